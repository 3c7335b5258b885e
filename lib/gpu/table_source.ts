import bf16 from "../../shaders/bf16.wgsl" with { type: "text" };
import fp8Rows from "../../shaders/fp8_rows.wgsl" with { type: "text" };
import lookupAny from "../../shaders/lookup_any.wgsl" with { type: "text" };
import lookupFp8 from "../../shaders/lookup_fp8.wgsl" with { type: "text" };
import lookupRecords from "../../shaders/lookup_records.wgsl" with { type: "text" };
import lookupSorted from "../../shaders/lookup_sorted.wgsl" with { type: "text" };
import type { RowEncoding } from "../table/row_store.ts";
import type { Kernel } from "./kernel.ts";
import { unroll } from "./unroll.ts";

/**
 * Bindings of a lookup before the table's: sizes, ids, columns, output; sorted: sizes, order, output;
 * records: sizes, ids, output.
 */
export const OWN_BINDINGS = { plain: 4, sorted: 3, records: 3 } as const;

/** A Vulkan allocation comes in pages of 2 MiB. */
export const PAGE_BYTES: number = 2 ** 21;

const KINDS = { fp8: 0, int8: 1, bf16: 2, f16: 3, f32: 4 } as const;

/** Whether rows are fp8 of a width the vectorised kernels take. */
export function hasFastKernel({ kind, headDim }: RowEncoding): boolean {
  return kind === "fp8" && headDim % 8 === 0;
}

/** Threads of a workgroup, and rows a thread has on the way. */
const PLAIN = { group: 128, pieces: 2 } as const;
const SORTED = { group: 256, pieces: 1 } as const;

/** Pieces of eight values that a workgroup of the plain fp8 kernel takes. */
export const PLAIN_GROUP: number = PLAIN.group * PLAIN.pieces;
/** Pieces of eight values that a workgroup of the sorted kernel takes in one turn. */
export const SORTED_GROUP: number = SORTED.group * SORTED.pieces;

/** What a kernel must know of a table. */
export interface TableShape {
  /** How a record is decoded. */
  readonly encoding: RowEncoding;
  /** Rows in each buffer. */
  readonly split: { readonly chunkRows: number };
  /** Bytes from one record to the next. */
  readonly stride: number;
  /** Whether the device widens subnormal halves exactly. */
  readonly subnormals: boolean;
}

/** Which columns a lookup serves, of how many. */
export interface Columns {
  /** Columns of the ids. */
  readonly columns: number;
  /** Columns served. */
  readonly localCount: number;
  /** Whether these are all, in order. */
  readonly all: boolean;
}

/** The kernel that looks fp8 rows up in the order of the ids, in a table of `chunks` buffers. */
export function plainLookup(
  table: TableShape,
  chunks: number,
  { columns, localCount, all }: Columns,
): Kernel {
  const main = unroll(lookupFp8, { PIECES: PLAIN.pieces });
  return {
    name: "lookup_fp8",
    source: `${tableBindings(table.encoding, OWN_BINDINGS.plain, chunks)}\n${fp8Rows}\n${main}`,
    constants: {
      ...fp8Constants(table),
      GROUP: PLAIN.group,
      COLUMNS: columns,
      LOCAL: localCount,
      ALL: all ? 1 : 0,
    },
  };
}

/** The kernel that looks rows of any encoding up, in a table of `chunks` buffers. */
export function anyLookup({ encoding, split, stride }: TableShape, chunks: number): Kernel {
  const { kind, headDim, codeBytes } = encoding;
  return {
    name: "lookup_any",
    source: `${bf16}\n${tableBindings(encoding, OWN_BINDINGS.plain, chunks)}\n${lookupAny}`,
    constants: {
      KIND: KINDS[kind],
      HEAD_DIM: headDim,
      CHUNK_ROWS: split.chunkRows,
      CODE_BYTES: codeBytes,
      STRIDE: stride,
    },
  };
}

/** The kernel that looks fp8 rows up in the order of their places; `turns` a workgroup. */
export function sortedLookup(
  table: TableShape,
  chunks: number,
  turns: number,
  pageBytes: number,
): Kernel {
  const main = unroll(lookupSorted, { PIECES: SORTED.pieces });
  return {
    name: "lookup_sorted",
    source: `${tableBindings(table.encoding, OWN_BINDINGS.sorted, chunks)}\n${fp8Rows}\n${main}`,
    constants: {
      ...fp8Constants(table),
      GROUP: SORTED.group,
      TURNS: turns,
      PAGE_BYTES: pageBytes,
    },
  };
}

/** The kernel that copies records as they are, from a table of `chunks` buffers. */
export function recordLookup({ encoding, split, stride }: TableShape, chunks: number): Kernel {
  const { type, bytes } = elementOf(encoding);
  return {
    name: "lookup_records",
    source: `alias Element = ${type};\n` +
      `${tableBindings(encoding, OWN_BINDINGS.records, chunks)}\n${lookupRecords}`,
    constants: { CHUNK_ROWS: split.chunkRows, ELEMENTS: stride / bytes },
  };
}

function fp8Constants({ encoding, split, stride, subnormals }: TableShape) {
  return {
    LANES: encoding.headDim / 8,
    CHUNK_ROWS: split.chunkRows,
    STRIDE: stride,
    KEEPS_SUBNORMALS: subnormals ? 1 : 0,
  };
}

/** What a table's buffers are read by. */
function elementOf(encoding: RowEncoding): { readonly type: string; readonly bytes: number } {
  return hasFastKernel(encoding) ? { type: "vec2<u32>", bytes: 8 } : { type: "u32", bytes: 4 };
}

/** WGSL that binds a table's buffers from binding `first` on and reads element `at` of one of them. */
function tableBindings(encoding: RowEncoding, first: number, chunks: number): string {
  const fast = hasFastKernel(encoding);
  const { type } = elementOf(encoding);
  const numbers = Array.from({ length: chunks }, (_, i) => i);
  const variables = numbers.map((i) =>
    `@group(0) @binding(${first + i}) var<storage, read> records${i}: array<${type}>;`
  );
  return [
    ...variables,
    `fn records_at(chunk: u32, at: u32) -> ${type} {`,
    tree(0, chunks, (i) => `return records${i}[at];`),
    "}",
    ...(fast
      ? [
        "// Elements `a` and `b` of the same buffer: one choice for both, and both on the way at once.",
        "fn two_records_at(chunk: u32, a: u32, b: u32) -> vec4<u32> {",
        tree(0, chunks, (i) => `return vec4(records${i}[a], records${i}[b]);`),
        "}",
      ]
      : []),
  ].join("\n");
}

/**
 * Chooses among buffers `first` … `end - 1` by halves. A `switch` over three or more becomes an
 * indirect jump on some devices, which makes a lookup a fifth slower.
 */
function tree(first: number, end: number, leaf: (i: number) => string): string {
  if (end - first === 1) return leaf(first);
  const middle = Math.floor((first + end) / 2);
  return `if chunk < ${middle}u { ${tree(first, middle, leaf)} } else { ${
    tree(middle, end, leaf)
  } }`;
}
