import assert from "node:assert/strict";
import { gate } from "../../lib/engram/gate.ts";
import { lookup } from "../../lib/engram/lookup.ts";
import { project } from "../../lib/engram/project.ts";
import { relay } from "../../lib/engram/relay.ts";
import { EngramError } from "../../lib/errors.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";

function refused(work: () => unknown, says: RegExp): void {
  assert.throws(work, (error) => {
    assert.ok(error instanceof EngramError, String(error));
    assert.equal(error.kind, "usage");
    assert.match(error.message, says);
    return true;
  });
}

const bf16 = (length: number) => new Uint16Array(length);
const bytes = (length: number) => new Uint8Array(length);

Deno.test("projections of wrong sizes are refused by what is wrong", () => {
  const block = [32, 32] as const;
  const weights = { outFeatures: 33, inFeatures: 40, codes: bytes(1320), scales: bytes(4), block };
  project(weights, bf16(80), 2);
  refused(() => project(weights, bf16(79), 2), /found 79 row values, wanted 80/);
  refused(() => project({ ...weights, codes: bytes(1319) }, bf16(80), 2), /1319 weights, wanted/);
  refused(
    () => project({ ...weights, scales: bytes(3) }, bf16(80), 2),
    /3 weight scales, wanted 4/,
  );
  const { scales: _, ...plain } = weights;
  refused(() => project(plain, bf16(80), 2), /fp8 weights without scales/);
});

Deno.test("gates of wrong sizes are refused by what is wrong", () => {
  const weights = { hidden: 5, copies: 2, q: bf16(10), k: bf16(10), eps: 1e-6 };
  const input = { tokens: 3, stream: bf16(30), kv: bf16(45), mask: bytes(3) };
  gate(weights, input);
  refused(() => gate({ ...weights, q: bf16(9) }, input), /found 9 q weights, wanted 10/);
  refused(() => gate({ ...weights, k: bf16(11) }, input), /found 11 k weights, wanted 10/);
  refused(() => gate(weights, { ...input, stream: bf16(29) }), /found 29 stream values, wanted 30/);
  refused(() => gate(weights, { ...input, kv: bf16(44) }), /found 44 key and value/);
  refused(() => gate(weights, { ...input, mask: bytes(2) }), /found 2 mask entries, wanted 3/);
});

Deno.test("lookups of wrong sizes are refused by what is wrong", () => {
  const encoding = rowEncoding("fp8", 32);
  const table = { encoding, codes: bytes(64), scales: bytes(2), rowStart: 0, rows: 2 };
  const input = { tokens: 2, columns: 3, ids: new Int32Array(6), local: [0] };
  lookup(table, input);
  refused(() => lookup({ ...table, codes: bytes(63) }, input), /63 code bytes for 2 rows/);
  refused(() => lookup({ ...table, scales: bytes(3) }, input), /3 scale bytes for 2 rows/);
  refused(() => lookup(table, { ...input, ids: new Int32Array(5) }), /5 row numbers, wanted 6/);
  for (const local of [[-1], [0.5], [NaN]]) {
    refused(() => lookup(table, { ...input, local }), /found column/);
  }
});

Deno.test("re-lays of wrong sizes are refused by what is wrong", () => {
  const input = {
    tp: 2,
    rank: 1,
    tokens: 3,
    localColumns: 2,
    columns: 4,
    headDim: 5,
    gathered: bf16(60),
  };
  relay(input);
  refused(() => relay({ ...input, gathered: bf16(59) }), /found 59 gathered values, wanted 60/);
  refused(() => relay({ ...input, rank: 2 }), /found rank 2, wanted 0 to 1/);
  refused(() => relay({ ...input, rank: -1 }), /found rank -1/);
  refused(() => relay({ ...input, columns: 5 }), /2 columns for each of 2 ranks, wanted 5/);
});
