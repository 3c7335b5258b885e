/**
 * Hashes a text with the library: which rows of each layer's table every token reads.
 *
 *     deno run -A examples/hash_text.ts MODEL tokenizer.json "some text"
 */
import {
  buildLayout,
  buildTokenMap,
  loadTokenizer,
  NgramHasher,
  openCheckpoint,
  StreamHasher,
} from "../lib/mod.ts";

const [model, tokenizerPath, text] = Deno.args;
const checkpoint = await openCheckpoint(model);
const { config } = checkpoint;
checkpoint.close();

const tokenizer = await loadTokenizer(tokenizerPath);
const { map, compressedVocabSize } = buildTokenMap(tokenizer);
// Throws where the tokenizer is not the model's: every multiplier depends on the map's size.
const layout = buildLayout(config, compressedVocabSize);
const hasher = new NgramHasher(layout, map[config.padTokenId]);

const tokenIds = await tokenizer.encode(text);
const rows = new StreamHasher(hasher).push(tokenIds.map((id) => map[id]));

tokenIds.forEach((id, token) => {
  layout.layers.forEach(({ layerId }, layer) => {
    const at = (token * layout.layers.length + layer) * layout.columns;
    const own = rows.subarray(at, at + layout.columns);
    console.log(`${JSON.stringify(tokenizer.decodeOne(id))}\tlayer ${layerId}\t${own.join(" ")}`);
  });
});
