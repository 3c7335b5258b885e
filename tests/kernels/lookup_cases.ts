import assert from "node:assert/strict";
import type { KernelTable } from "../../lib/engram/kernels.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import type { RowEncoding } from "../../lib/table/row_store.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { assertSameBits, nearestBf16 } from "./bf16_oracle.ts";
import { Random } from "./random.ts";
import type { Cases } from "./suite.ts";

/** The lookup of rows in memory. */
export const lookupCases: Cases = async (kernels, step) => {
  const golden = goldenTensors("rows_and_gates.safetensors").get("bf16_bits", "I32").values;

  await step("all 65,536 products of an fp8 code and a scale", async () => {
    // One row of 256 codes for each scale byte: all its groups share that scale.
    const encoding = rowEncoding("fp8", 256);
    const table: KernelTable = {
      encoding,
      codes: Uint8Array.from({ length: 65536 }, (_, i) => i & 255),
      scales: Uint8Array.from({ length: 256 * 8 }, (_, i) => i >> 3),
      rowStart: 0,
      rows: 256,
    };
    const ids = Int32Array.from({ length: 256 }, (_, i) => i);
    const found = await kernels.lookup(table, { tokens: 256, columns: 1, ids, local: [0] });
    assertSameBits(found, golden, "products");
  });

  for (const headDim of [1, 8, 31, 32, 33, 48, 64, 80, 128, 256, 512]) {
    await step(`random fp8 rows of ${headDim} values`, async () => {
      const random = new Random(headDim);
      const table = randomTable(random, "fp8", headDim, 500, 1000);
      const tokens = 37, columns = 5;
      const ids = Int32Array.from({ length: tokens * columns }, () => 1000 + random.below(500));
      const local = [4, 0, 2];
      const found = await kernels.lookup(table, { tokens, columns, ids, local });
      assertSameBits(found, fp8Rows(table, ids, columns, local, golden), "rows");
    });
  }

  await step("foreign, negative and padding ids give zeros", async () => {
    const table = randomTable(new Random(7), "fp8", 64, 100, 300);
    // Columns 1 and 2 are this rank's, 3 is padding past the end.
    const ids = Int32Array.from([
      [5, 300, 399],
      [5, 299, 400],
      [5, -1, -2147483648],
      [5, 0, 2147483647],
      [5, 350, -1],
    ].flat());
    const local = [1, 2, 3, 9];
    const found = await kernels.lookup(table, { tokens: 5, columns: 3, ids, local });
    assertSameBits(found, fp8Rows(table, ids, 3, local, golden), "rows");
    assert.ok(found.subarray(0, 128).some((bits) => bits !== 0), "held rows are not zeros");
    for (let token = 0; token < 5; token++) {
      const padding = found.subarray((token * 4 + 2) * 64, (token + 1) * 4 * 64);
      assert.ok(padding.every((bits) => bits === 0), "padding columns are zeros");
    }
  });

  await step("a rank with no rows and a rank with no columns", async () => {
    const encoding = rowEncoding("fp8", 32);
    const none = new Uint8Array();
    const table = { encoding, codes: none, scales: none, rowStart: 40, rows: 0 };
    const ids = Int32Array.from([39, 40, 41]);
    const zeros = await kernels.lookup(table, { tokens: 3, columns: 1, ids, local: [0, 1] });
    assertSameBits(zeros, new Uint16Array(3 * 2 * 32), "no rows");
    const held = randomTable(new Random(3), "fp8", 32, 10, 35);
    const empty = await kernels.lookup(held, { tokens: 3, columns: 1, ids, local: [] });
    assert.equal(empty.length, 0);
  });

  for (const kind of ["int8", "bf16", "f16", "f32"] as const) {
    await step(`${kind} rows`, async () => {
      const random = new Random(kind.length);
      const table = randomTable(random, kind, 48, 90, 10);
      const ids = Int32Array.from({ length: 60 }, () => 5 + random.below(100));
      const found = await kernels.lookup(table, { tokens: 20, columns: 3, ids, local: [0, 1, 2] });
      const wanted = [...ids].flatMap((id) => plainRow(table, id));
      assertSameBits(found, wanted, "rows");
    });
  }

  await step("whole records of every encoding decoded, none, one and many", async () => {
    for (const [kind, headDim] of [["fp8", 64], ["fp8", 33], ["int8", 48], ["f16", 5]] as const) {
      const table = randomTable(new Random(headDim), kind, headDim, 20_000, 0);
      const records = recordsOf(table);
      for (const rows of [0, 1, 20_000]) {
        const ids = Int32Array.from({ length: rows }, (_, row) => row);
        const some = records.subarray(0, rows * table.encoding.recordBytes);
        const wanted = kind === "fp8"
          ? fp8Rows(table, ids, 1, [0], golden)
          : [...ids].flatMap((id) => plainRow(table, id));
        const found = await kernels.decode(table.encoding, some);
        assertSameBits(found, wanted, `${rows} rows of ${kind}`);
      }
    }
  });

  await step("zero tokens, one token, 100,000 tokens", async () => {
    const random = new Random(11);
    const table = randomTable(random, "fp8", 32, 1000, 0);
    for (const tokens of [0, 1, 100_000]) {
      const ids = Int32Array.from({ length: tokens * 2 }, () => random.below(1100) - 50);
      const found = await kernels.lookup(table, { tokens, columns: 2, ids, local: [0, 1] });
      assertSameBits(found, fp8Rows(table, ids, 2, [0, 1], golden), `${tokens} tokens`);
    }
  });
};

/** A table of `rows` rows from `rowStart` on: any byte as an fp8 code and scale, sane numbers elsewhere. */
function randomTable(
  random: Random,
  kind: RowEncoding["kind"],
  headDim: number,
  rows: number,
  rowStart: number,
): KernelTable {
  const encoding = rowEncoding(kind, headDim);
  const codes = random.bytes(rows * encoding.codeBytes);
  const scales = random.bytes(rows * encoding.scaleBytes);
  if (kind === "f32") {
    new Float32Array(codes.buffer).forEach((_, i, all) => all[i] = random.normal() * 1e3);
  }
  if (kind === "int8") {
    new Float32Array(scales.buffer).forEach((_, i, all) => all[i] = random.normal() * 1e-2);
  }
  return { encoding, codes, scales, rowStart, rows };
}

/** Its records, codes and then scales. */
function recordsOf({ encoding, codes, scales, rows }: KernelTable): Uint8Array {
  const { codeBytes, scaleBytes, recordBytes } = encoding;
  const records = new Uint8Array(rows * recordBytes);
  for (let row = 0; row < rows; row++) {
    records.set(codes.subarray(row * codeBytes, (row + 1) * codeBytes), row * recordBytes);
    const own = scales.subarray(row * scaleBytes, (row + 1) * scaleBytes);
    records.set(own, row * recordBytes + codeBytes);
  }
  return records;
}

function fp8Rows(
  { encoding: { headDim, scaleBytes }, codes, scales, rowStart, rows }: KernelTable,
  ids: Int32Array,
  columns: number,
  local: readonly number[],
  products: Int32Array,
): Uint16Array {
  const tokens = ids.length / columns;
  const out = new Uint16Array(tokens * local.length * headDim);
  for (let i = 0; i < tokens * local.length; i++) {
    const column = local[i % local.length];
    if (column >= columns) continue;
    const row = ids[Math.floor(i / local.length) * columns + column] - rowStart;
    if (row < 0 || row >= rows) continue;
    for (let j = 0; j < headDim; j++) {
      const scale = scales[row * scaleBytes + Math.floor(j / 32)];
      out[i * headDim + j] = products[scale * 256 + codes[row * headDim + j]];
    }
  }
  return out;
}

function plainRow({ encoding, codes, scales, rowStart, rows }: KernelTable, id: number): number[] {
  const { kind, headDim, codeBytes, scaleBytes } = encoding;
  const row = id - rowStart;
  if (row < 0 || row >= rows) return new Array(headDim).fill(0);
  const view = new DataView(codes.buffer, row * codeBytes, codeBytes);
  return Array.from({ length: headDim }, (_, j) => {
    switch (kind) {
      case "bf16":
        return view.getUint16(2 * j, true);
      case "f16":
        return nearestBf16(view.getFloat16(2 * j, true));
      case "f32":
        return nearestBf16(view.getFloat32(4 * j, true));
      default: {
        const scaleView = new DataView(scales.buffer, row * scaleBytes);
        const scale = scaleView.getFloat32(4 * Math.floor(j / 32), true);
        return nearestBf16(Math.fround(view.getInt8(j) * scale));
      }
    }
  });
}
