import { EngramError } from "../../../lib/errors.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";
import { sample } from "../sample.ts";

/** Building the compressed token map of a tokenizer already loaded. */
export async function* mapWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  if (request.tokenizer === null) {
    throw new EngramError("usage", "Cannot benchmark the map: no tokenizer", {
      where: "--tokenizer",
      hint: "Add `--tokenizer PATH`, a tokenizer.json or its folder",
    });
  }
  const { loadTokenizer } = await import("../../../lib/tokenizer/load_tokenizer.ts");
  const { buildTokenMap } = await import("../../../lib/tokenizer/token_map.ts");
  const path = request.tokenizer;
  const tokenizer = await loadTokenizer(path);
  const shared = {
    name: "map",
    role: "case" as const,
    parameters: { tokens: tokenizer.tokens },
    work: { tokens: tokenizer.tokens, rows: null, distinctRows: null, bytes: null },
    counted: "tokens of the vocabulary",
    gpuSamples: null,
    warnings: [],
  };
  yield {
    ...shared,
    variant: "load",
    excluded: "nothing",
    samples: await sample(async () => void await loadTokenizer(path), request.sampling),
  };
  yield {
    ...shared,
    variant: "build",
    excluded: "loading the tokenizer",
    samples: await sample(() => void buildTokenMap(tokenizer), request.sampling),
  };
}
