import assert from "node:assert/strict";
import fc from "fast-check";
import type { EngramConfig } from "../../lib/checkpoint/engram_config.ts";
import { mentionsEngram, parseConfig } from "../../lib/checkpoint/parse_config.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { rankSpans } from "../../lib/layout/rank_spans.ts";
import { SMALL_CONFIG } from "../checkpoint/small_checkpoint.ts";
import { onlyEngramErrors } from "./only_engram_errors.ts";

/** Numbers at the places where arithmetic breaks. */
const edges = fc.constantFrom(
  ...[0, 1, 2, 31, 32, 53, 63].flatMap((bits) => [2 ** bits - 1, 2 ** bits, 2 ** bits + 1]),
  -1,
  0.5,
  -0,
  1e308,
  1e-320,
);

const value = fc.oneof(
  edges,
  fc.array(edges, { maxLength: 5 }),
  fc.constantFrom(null, true, "", "1", "NaN", [], {}, [[1]], [null]),
  fc.jsonValue(),
);

/** A config with some keys changed, removed or added, flat or nested. */
const config = fc.record({
  changes: fc.dictionary(
    fc.constantFrom(
      ...Object.keys(SMALL_CONFIG),
      "engram_pad_id",
      "dim",
      "norm_eps",
      "image_token_id",
      "pad_token_id",
      "quantization_config",
      "text_config",
      "__proto__",
    ),
    value,
    { maxKeys: 4 },
  ),
  removed: fc.subarray(Object.keys(SMALL_CONFIG), { maxLength: 2 }),
  nested: fc.boolean(),
}).map(({ changes, removed, nested }) => {
  const entries = Object.entries({ ...SMALL_CONFIG, ...changes });
  const inner = Object.fromEntries(entries.filter(([key]) => !removed.includes(key)));
  return nested ? { text_config: inner } : inner;
});

Deno.test("whatever a config holds: a config that can be laid out, or a clear error", async () => {
  let parsed = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(config, fc.jsonValue()), async (json) => {
      mentionsEngram(json);
      let config: EngramConfig | undefined;
      if (await onlyEngramErrors(() => config = parseConfig(json, "config.json"))) {
        parsed++;
        await onlyEngramErrors(() => {
          const layout = buildLayout(config!);
          for (const layer of layout.layers) {
            assert.ok(Number.isSafeInteger(layer.rows));
            const spans = rankSpans(layer, { tp: 3 });
            assert.equal(spans.reduce((sum, { rows }) => sum + rows, 0), layer.rows);
          }
        });
      }
    }),
    { numRuns: 1500 },
  );
  assert.ok(parsed > 50, "enough of them are good");
});

Deno.test("the largest legal config is laid out in bounded time", async () => {
  const most = {
    ...SMALL_CONFIG,
    engram_layer_ids: [0, 2 ** 31 - 1],
    engram_num_embeddings: null,
    engram_max_ngram_size: 9,
    engram_n_heads: 64,
    engram_vocab_size: 2 ** 31 - 1,
    engram_compressed_vocab_size: 2 ** 31 - 1,
  };
  const layout = buildLayout(parseConfig(most, "c"));
  // 2^31 - 1 is itself a prime, the first one drawn.
  assert.equal(layout.layers[0].primes[0][0], 2 ** 31 - 1);
  assert.ok(layout.layers[1].rows > 2 ** 31 * 512, "sums go past 2^40 without loss");
  const sum = layout.layers[1].primes.flat().reduce((all, prime) => all + BigInt(prime), 0n);
  assert.equal(BigInt(layout.layers[1].rows), sum);
  const last = layout.layers[1].offsets.at(-1)!;
  assert.equal(BigInt(last), sum - BigInt(layout.layers[1].primes.at(-1)!.at(-1)!));
  await onlyEngramErrors(() =>
    buildLayout(parseConfig({ ...most, engram_max_ngram_size: 64, engram_n_heads: 4096 }, "c"))
  );
});
