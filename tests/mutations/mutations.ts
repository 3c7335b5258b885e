/** A deliberate fault: the one place of a file that is changed, and the tests that must notice. */
export interface Mutation {
  /** What goes wrong, in a few words. */
  readonly name: string;
  readonly file: string;
  /** Text that stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** Test files or folders. */
  readonly tests: readonly string[];
}

/** The faults that are easiest to make and hardest to see: each gives plausible numbers. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: "the multipliers in reverse order",
    file: "lib/layout/multipliers.ts",
    find: "() => random.below(bound) * 2n + 1n)",
    replace: "() => random.below(bound) * 2n + 1n).reverse()",
    tests: ["tests/layout"],
  },
  {
    name: "dead tokens hide only themselves, not what lies behind them",
    file: "lib/hash/lookback_sources.ts",
    find: "if (source === DEAD) break;",
    replace: "if (source === DEAD) source = UNKNOWN;",
    tests: ["tests/hash"],
  },
  {
    name: "the padding token's id instead of its compressed id",
    file: "cli/token_input.ts",
    find: "padId: map.map[config.padTokenId]",
    replace: "padId: config.padTokenId",
    tests: ["tests/cli/hash_test.ts"],
  },
  {
    name: "a rank's first row not taken off its row numbers",
    file: "lib/engram/lookup.ts",
    find: "ids[t * columns + column] - rowStart",
    replace: "ids[t * columns + column]",
    tests: ["tests/kernels/cpu_test.ts"],
  },
  {
    name: "only non-spacing marks dropped, not all marks",
    file: "lib/tokenizer/unicode.ts",
    find: "\\p{M}",
    replace: "\\p{Mn}",
    tests: ["tests/tokenizer/normalize_key_test.ts"],
  },
  {
    name: "columns dealt round where complete heads are wanted",
    file: "lib/layout/rank_spans.ts",
    find: 'split === "heads" ? rank * localColumns + i',
    replace: 'split !== "heads" ? rank * localColumns + i',
    tests: ["tests/layout/rank_spans_test.ts"],
  },
  {
    name: "the next row of weight scales one tile too far",
    file: "lib/engram/project.ts",
    find: "Math.floor(n / blockRows) * scaleColumns",
    replace: "Math.floor(n / blockRows) * (scaleColumns + 1)",
    tests: ["tests/kernels/cpu_test.ts"],
  },
  {
    name: "the window read farthest token first",
    file: "lib/hash/lookback_sources.ts",
    find: "const at = request * windowDepth + distance;",
    replace: "const at = request * windowDepth + windowDepth - 1 - distance;",
    tests: ["tests/hash"],
  },
  {
    name: "the last column dropped",
    file: "lib/hash/layer_hash.ts",
    find: "const end = column + heads; column < end;",
    replace: "const end = column + heads; column < Math.min(end, primes.length - 1);",
    tests: ["tests/hash"],
  },
  {
    name: "tensors found eight bytes too early, the length of the header's length forgotten",
    file: "lib/safetensors/safetensors_file.ts",
    find: "const offset = headerBytes + begin;",
    replace: "const offset = headerBytes - 8 + begin;",
    tests: ["tests/safetensors"],
  },
  {
    name: "lower-casing the whole text, with its final-sigma rule",
    file: "lib/tokenizer/normalize_key.ts",
    find: "    out += to;\n  }\n  return out;",
    replace: '    out += to;\n  }\n  return out.replace(/(\\p{L})σ(?!\\p{L})/gu, "$1ς");',
    tests: ["tests/tokenizer/normalize_key_test.ts"],
  },
  {
    name: "each layer drawing its primes anew, so that they are used twice",
    file: "lib/layout/draw_primes.ts",
    find: "    () =>\n      Array.from({ length: maxNgramSize - 1 }",
    replace: "    () =>\n      (last = vocabSize - 1) && Array.from({ length: maxNgramSize - 1 }",
    tests: ["tests/layout"],
  },
  {
    name: "an unknown token hiding what lies behind it",
    file: "lib/hash/lookback_sources.ts",
    find: "if (source === DEAD) break;",
    replace: "if (source === DEAD || source === UNKNOWN) break;",
    tests: ["tests/hash"],
  },
  {
    name: "another KV cache taking over the last one's history",
    file: "lib/hash/slot_cache.ts",
    find: "const same = kvCache === this.#owner && ",
    replace: "const same = ",
    tests: ["tests/hash/slot_cache_test.ts"],
  },
  {
    name: "a quotient that may come out too large",
    file: "lib/hash/layer_hash.ts",
    find: "(1 / prime) * (1 - 2 ** -50)",
    replace: "(1 / prime) * (1 + 2 ** -50)",
    tests: ["tests/hash/layer_hash_test.ts"],
  },
  {
    name: "the 32-bit draws without their buffered half",
    file: "lib/layout/pcg64.ts",
    find: "this.#half = word >> 32n;",
    replace: "this.#half = undefined;",
    tests: ["tests/layout"],
  },
  {
    name: "each layer on the GPU looking up by the first one's row numbers",
    file: "lib/gpu/resident_rows.ts",
    find: "(_, column) => first + column",
    replace: "(_, column) => column",
    tests: ["tests/gpu/runner_test.ts"],
  },
  {
    name: "every piece of a batch getting the rows of the first",
    file: "lib/gpu/gathered_rows.ts",
    find: "subarray(first * columns, (first + count) * columns)",
    replace: "subarray(0, count * columns)",
    tests: ["tests/gpu/runner_test.ts"],
  },
  {
    name: "pieces that a ring read in part taken for whole",
    file: "lib/bytes/file_ring.ts",
    find: "if (this.#results[at + 2] !== bytes)",
    replace: "if (this.#results[at + 2] < 0)",
    tests: ["tests/bytes/file_ring_test.ts"],
  },
  {
    name: "scales in memory put a byte before their place",
    file: "lib/table/window_store.ts",
    find: "      at += part.bytes;",
    replace: "      at += part.bytes - 1;",
    tests: ["tests/table/row_store_test.ts"],
  },
];
