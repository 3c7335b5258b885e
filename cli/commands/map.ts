import { begin, command } from "../command.ts";
import { READ, REMOTE, writeWith } from "../permissions.ts";
import { count } from "../units.ts";

/** `engram map`: the compressed token map of a tokenizer. */
export function mapCommand() {
  return command("map", {
    summary: "Build a tokenizer's compressed token map",
    details: "The n-gram hash takes tokens for the same one whose texts differ only in case, " +
      "accents, width or white space; the map gives each token the id it is hashed by. Its digest " +
      "tells whether two maps are equal: two tokenizers of the same compressed size can still " +
      "differ in order.",
    examples: [
      ["map DeepSeek-V4.1-Flash", "sizes and digest of the map of a folder's tokenizer.json"],
      ["map tokenizer.json --out map.safetensors", "save it: `hash`, `lookup` and `eval` take it"],
    ],
    permissions: [READ, writeWith("--out"), REMOTE],
  })
    .argument("<tokenizer>", "a tokenizer.json, or the folder that holds one")
    .option("--out <file>", "write the map to this safetensors file")
    .option("--force", "replace the file if it exists")
    .action(async (path, options) => {
      const { printer } = begin(options);
      const [{ loadTokenizer }, { buildTokenMap }, { writeTokenMap }, { knownMap }] = await Promise
        .all([
          import("../../lib/tokenizer/load_tokenizer.ts"),
          import("../../lib/tokenizer/token_map.ts"),
          import("../../lib/tokenizer/saved_map.ts"),
          import("../../lib/tokenizer/known_maps.ts"),
        ]);
      const tokenizer = await loadTokenizer(path);
      const map = buildTokenMap(tokenizer);
      const { out, force = false } = options;
      if (out !== undefined) await writeTokenMap(out, map, { source: tokenizer.name, force });
      const known = knownMap(map.sha256);
      printer.result({
        tokenizer: tokenizer.name,
        tokens: map.map.length,
        compressed_vocab_size: map.compressedVocabSize,
        undecodable: map.undecodable,
        sha256: map.sha256,
        known,
        out: out ?? null,
      }, () =>
        [
          `${tokenizer.name}`,
          `  tokens                 ${count(map.map.length)}`,
          `  compressed vocabulary  ${count(map.compressedVocabSize)}`,
          `  undecodable alone      ${count(map.undecodable!)}`,
          `  sha256                 ${map.sha256}`,
          `  known as               ${known === null ? "–" : `the map of ${known}`}`,
          ...(out === undefined ? [] : [`  written to             ${out}`]),
        ].join("\n"));
    });
}
