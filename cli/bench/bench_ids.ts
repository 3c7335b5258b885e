import { EngramError } from "../../lib/errors.ts";
import { distinct, type IdKind, idStream } from "./id_streams.ts";
import type { BenchRequest } from "./request.ts";

/** A stream with fewer distinct ids than this share of its length gets a warning. */
const KIND_SHARE = 0.02;

/** `count` compressed ids of a kind, with a warning where they are kinder than real text. */
export async function benchIds(
  request: BenchRequest,
  kind: IdKind,
  count: number,
  vocabulary: number,
): Promise<{ ids: Int32Array; warnings: string[] }> {
  const ids = kind === "text" ? await textIds(request, count) : idStream(kind, count, vocabulary);
  const share = count === 0 ? 1 : distinct(ids) / count;
  const warnings = count >= 64 && share < KIND_SHARE
    ? [
      `ids of kind ${kind}: only ${(share * 100).toFixed(1)}% of the tokens are distinct, ` +
      `so caches look better than on real text`,
    ]
    : [];
  return { ids, warnings };
}

async function textIds({ text, tokenizer }: BenchRequest, count: number): Promise<Int32Array> {
  if (text === null || tokenizer === null) {
    throw new EngramError("usage", "Cannot make ids of kind text: no text or no tokenizer", {
      where: "--ids",
      hint: "Add `--text FILE --tokenizer PATH`, or use `--ids random,zipf,repeated`",
    });
  }
  const { loadTokenizer } = await import("../../lib/tokenizer/load_tokenizer.ts");
  const { buildTokenMap } = await import("../../lib/tokenizer/token_map.ts");
  const loaded = await loadTokenizer(tokenizer);
  const { map } = buildTokenMap(loaded);
  const ids = await loaded.encode(Deno.readTextFileSync(text));
  if (ids.length < count) {
    throw new EngramError(
      "usage",
      `Cannot take ${count} tokens from \`${text}\`: found ${ids.length}`,
      { where: text, hint: "Give a longer text, or fewer `--tokens`" },
    );
  }
  return Int32Array.from(ids.subarray(0, count), (id) => map[id]);
}
