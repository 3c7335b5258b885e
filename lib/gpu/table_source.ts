import bf16 from "../../shaders/bf16.wgsl" with { type: "text" };
import fp8Rows from "../../shaders/fp8_rows.wgsl" with { type: "text" };
import lookupAny from "../../shaders/lookup_any.wgsl" with { type: "text" };
import lookupFp8 from "../../shaders/lookup_fp8.wgsl" with { type: "text" };
import lookupSorted from "../../shaders/lookup_sorted.wgsl" with { type: "text" };
import type { RowEncoding } from "../table/row_store.ts";
import type { Kernel } from "./kernel.ts";

/** Bindings of a lookup before the table's: sizes, ids, columns, output; sorted: sizes, order, output. */
export const OWN_BINDINGS = { plain: 4, sorted: 3 } as const;

const KINDS = { fp8: 0, int8: 1, bf16: 2, f16: 3, f32: 4 } as const;

/** Whether rows are fp8 of a width the vectorised kernels take. */
export function hasFastKernel({ kind, headDim }: RowEncoding): boolean {
  return kind === "fp8" && headDim % 8 === 0;
}

/** The kernel that looks rows up in the order of the ids, in a table of `chunks` buffers. */
export function plainLookup(encoding: RowEncoding, chunks: number, chunkRows: number): Kernel {
  const { kind, headDim, codeBytes, scaleBytes } = encoding;
  if (hasFastKernel(encoding)) {
    return {
      name: "lookup_fp8",
      source: `${tableBindings(encoding, OWN_BINDINGS.plain, chunks)}\n${fp8Rows}\n${lookupFp8}`,
      constants: { LANES: headDim / 8, CHUNK_ROWS: chunkRows, SCALE_BYTES: scaleBytes },
    };
  }
  return {
    name: "lookup_any",
    source: `${bf16}\n${tableBindings(encoding, OWN_BINDINGS.plain, chunks)}\n${lookupAny}`,
    constants: {
      KIND: KINDS[kind],
      HEAD_DIM: headDim,
      CHUNK_ROWS: chunkRows,
      CODE_BYTES: codeBytes,
      SCALE_BYTES: scaleBytes,
    },
  };
}

/** The kernel that looks fp8 rows up in the order of their places; `run` passes a workgroup. */
export function sortedLookup(
  encoding: RowEncoding,
  chunks: number,
  chunkRows: number,
  run: number,
): Kernel {
  return {
    name: "lookup_sorted",
    source: `${tableBindings(encoding, OWN_BINDINGS.sorted, chunks)}\n${fp8Rows}\n${lookupSorted}`,
    constants: {
      LANES: encoding.headDim / 8,
      CHUNK_ROWS: chunkRows,
      SCALE_BYTES: encoding.scaleBytes,
      RUN: run,
    },
  };
}

/** WGSL that binds a table's buffers from binding `first` on and reads element `at` of one of them. */
function tableBindings(encoding: RowEncoding, first: number, chunks: number): string {
  const codes = bindings("codes", first, chunks, hasFastKernel(encoding) ? "vec2<u32>" : "u32");
  const scales = encoding.scaleBytes > 0
    ? bindings("scales", first + chunks, chunks, "u32")
    : "fn scales_at(chunk: u32, at: u32) -> u32 {\n  return 0u;\n}";
  return `${codes}\n${scales}`;
}

function bindings(name: string, first: number, chunks: number, type: string): string {
  const numbers = Array.from({ length: chunks }, (_, i) => i);
  const variables = numbers.map((i) =>
    `@group(0) @binding(${first + i}) var<storage, read> ${name}${i}: array<${type}>;`
  );
  const cases = numbers.slice(1).map((i) => `    case ${i}u: { return ${name}${i}[at]; }`);
  return [
    ...variables,
    `fn ${name}_at(chunk: u32, at: u32) -> ${type} {`,
    "  switch chunk {",
    ...cases,
    `    default: { return ${name}0[at]; }`,
    "  }",
    "}",
  ].join("\n");
}
