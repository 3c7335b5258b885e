import type { RowEncoding } from "../checkpoint/row_encoding.ts";

/** Bytes of a row that lie at regular distances in a file. */
export interface RowBytes {
  /** Path or URL of the file. */
  readonly path: string;
  /** First byte of row 0 in the file. */
  readonly offset: number;
  /** Bytes from one row to the next. */
  readonly stride: number;
  /** Where a row's bytes begin in its stride. */
  readonly at: number;
  /** Bytes of a row. */
  readonly bytes: number;
}

/** One tensor, with its scales where each row has its own, that is to be read from end to end. */
export interface ScanJob {
  /** The layer it belongs to. */
  readonly layerId: number;
  /** Its name in the checkpoint. */
  readonly tensor: string;
  /** What it is to the layer. */
  readonly part: "embed" | "wkv" | "wkv_scale" | "q_weight" | "k_weight";
  /** How values are coded; `scale` where the tensor is scales only. */
  readonly kind: RowEncoding["kind"] | "scale";
  /** Rows. */
  readonly rows: number;
  /** The values. */
  readonly codes: RowBytes | null;
  /** The scales. */
  readonly scales: RowBytes | null;
  /** Bytes of one scale: 1, or 4 for F32. */
  readonly scaleWidth: 1 | 4;
  /** Bytes of codes that share one scale. */
  readonly groupBytes: number;
  /** First row of each column; the last may be rows past the layout (padding). */
  readonly columnStarts: readonly number[];
  /** One row in this many is counted into the values' histogram. */
  readonly sample: number;
}

/** Bytes that reading the rows of a job from `begin` to `end` takes. */
export function bytesOfRows(job: ScanJob, begin: number, end: number): number {
  const { codes, scales } = job;
  return (end - begin) * ((codes?.bytes ?? 0) + (scales?.bytes ?? 0));
}
