import assert from "node:assert/strict";
import {
  distinctRows,
  type Gates,
  hitCurve,
  meanGates,
  rankLoads,
  strongNgrams,
} from "../../cli/report/gate_stats.ts";
import { GateRecord, MOST_PAGE_TOKENS } from "../../cli/report/gate_record.ts";
import { parseConfig } from "../../lib/checkpoint/parse_config.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { random } from "../tokenizer/random_text.ts";

const layout = buildLayout(parseConfig(goldenJson("mini/config.json"), "mini"));
const { columns } = layout;
const [copies, tokens] = [4, 300];

/** A record of random batches, and the same values as plain nested arrays. */
function recorded(seed: number) {
  const next = random(seed);
  const record = new GateRecord([1, 14], copies, columns);
  const plain: {
    id: number;
    dead: boolean;
    start: boolean;
    gates: number[][];
    rows: number[][];
  }[] = [];
  while (plain.length < tokens) {
    const size = Math.min(1 + next(40), tokens - plain.length);
    const batch = Array.from({ length: size }, (_, t) => ({
      id: next(6),
      dead: next(12) === 0,
      start: (plain.length === 0 && t === 0) || next(25) === 0,
      gates: [1, 14].map(() => Array.from({ length: copies }, () => Math.fround(next(1000) / 999))),
      rows: layout.layers.map(({ offsets, primes }) =>
        offsets.map((offset, column) => offset + next(Math.min(9, primes.flat()[column])))
      ),
    }));
    record.add(
      {
        tokenIds: Int32Array.from(batch, ({ id }) => id),
        dead: Uint8Array.from(batch, ({ dead }) => Number(dead)),
        starts: batch.flatMap(({ start }, t) => (start ? [t] : [])),
      },
      [0, 1].map((layer) => ({
        gate: Float32Array.from(batch.flatMap(({ gates }) => gates[layer])),
        ids: Int32Array.from(batch.flatMap(({ rows }) => rows[layer])),
      })),
    );
    plain.push(...batch);
  }
  const gates: Gates = {
    tokens,
    layers: 2,
    copies,
    columns,
    compressed: record.ids(),
    flags: record.flags(),
    gates: record.gates(),
    rows: record.rows(),
  };
  return { gates, plain };
}

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

Deno.test("a record keeps batches in order, layer beside layer", () => {
  const { gates, plain } = recorded(1);
  assert.deepEqual(Array.from(gates.rows), plain.flatMap(({ rows }) => rows.flat()));
  assert.deepEqual(Array.from(gates.compressed), plain.map(({ id }) => id));
  assert.deepEqual(
    Array.from(gates.flags),
    plain.map(({ dead, start }) => Number(dead) + 2 * Number(start)),
  );
  Array.from(meanGates(gates)).forEach((value, i) => {
    assert.ok(Math.abs(value - mean(plain[i >> 1].gates[i & 1])) < 1e-5);
  });
});

Deno.test("the strongest n-grams are those of a plain search", () => {
  const { gates, plain } = recorded(2);
  const strongest = strongNgrams(gates, meanGates(gates), 1, 4, 5);
  for (const n of [2, 3, 4]) {
    const found = new Map<string, number[]>();
    for (let t = n - 1; t < tokens; t++) {
      const part = plain.slice(t - n + 1, t + 1);
      if (part.some(({ dead }) => dead) || part.slice(1).some(({ start }) => start)) continue;
      const key = part.map(({ id }) => id).join();
      found.set(key, [...found.get(key) ?? [], mean(plain[t].gates[1])]);
    }
    const best = [...found.values()].map(mean).sort((a, b) => b - a).slice(0, 5);
    const own = strongest.filter((ngram) => ngram.n === n);
    own.forEach(({ gate, token, count }, i) => {
      assert.ok(Math.abs(gate - best[i]) < 1e-4, `${n}-gram ${i}: ${gate}, wanted ${best[i]}`);
      const key = plain.slice(token - n + 1, token + 1).map(({ id }) => id).join();
      assert.equal(found.get(key)!.length, count);
    });
    assert.equal(own.length, Math.min(5, found.size));
  }
});

Deno.test("rows and distinct rows are counted by column and by rank", () => {
  const { gates, plain } = recorded(3);
  const distinct = distinctRows(gates);
  for (const layer of [0, 1]) {
    const wanted = Array.from(
      { length: columns },
      (_, c) => new Set(plain.map(({ rows }) => rows[layer][c])).size,
    );
    assert.deepEqual(distinct[layer], wanted);
    for (const split of ["heads", "strided", "rows"] as const) {
      const loads = rankLoads(gates, layout, layer, { tp: 5, split });
      assert.equal(loads.length, 5);
      assert.equal(loads.reduce((sum, load) => sum + load.requests, 0), tokens * columns, split);
      const total = wanted.reduce((sum, count) => sum + count, 0);
      assert.equal(loads.reduce((sum, load) => sum + load.distinct, 0), total, split);
    }
    const curve = hitCurve(gates, layer);
    const last = curve[curve.length - 1];
    const misses = wanted.reduce((sum, count) => sum + count, 0);
    assert.ok(Math.abs(last.hitRate - (1 - misses / (tokens * columns))) < 1e-12);
  }
});

Deno.test("a text that no page could show is refused", () => {
  const record = new GateRecord([1], 1, 1);
  const size = MOST_PAGE_TOKENS + 1;
  assert.throws(
    () =>
      record.add({ tokenIds: new Int32Array(size), dead: new Uint8Array(size), starts: [] }, []),
    { name: "EngramError", message: /Cannot make a page of more than 500000 tokens/ },
  );
});
