import type { EngramLayer } from "../checkpoint/checkpoint.ts";
import { SCALE_GROUP } from "../checkpoint/row_encoding.ts";
import type { RowLayout } from "../layout/layout.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import type { RowBytes, ScanJob } from "./scan_job.ts";

/** Rows of one column that go into its values' histogram: millions of values, and little to count. */
const SAMPLED_ROWS = 2 ** 14;

/** The jobs that together read every byte of the Engram layers' tensors. */
export function scanJobs(layers: readonly EngramLayer[], layout: RowLayout | null): ScanJob[] {
  return layers.flatMap((layer) => [
    ...tableJob(layer, layout),
    ...(layer.wkv ? matrixJobs(layer.layerId, layer.wkv.weight, layer.wkv.scale) : []),
    ...(layer.qWeight ? [plainJob(layer.layerId, "q_weight", layer.qWeight)] : []),
    ...(layer.kWeight ? [plainJob(layer.layerId, "k_weight", layer.kWeight)] : []),
  ]);
}

function tableJob(layer: EngramLayer, layout: RowLayout | null): ScanJob[] {
  const { layerId, embed, encoding, rows, packed } = layer;
  if (!embed) return [];
  const { weight, scale } = embed;
  const { codeBytes, scaleBytes, recordBytes, headDim, kind } = encoding;
  const record = (at: number, bytes: number) => ({ ...rowsOf(weight, recordBytes), at, bytes });
  const columns = layout?.layers.find((entry) => entry.layerId === layerId);
  // Without a layout, or with one that the table is too short for, the table is one column.
  const starts = columns && columns.rows <= rows ? [...columns.offsets] : [0];
  if (columns && columns.rows < rows) starts.push(columns.rows);
  return [{
    layerId,
    tensor: weight.name,
    part: "embed",
    kind,
    rows,
    codes: packed ? record(0, codeBytes) : rowsOf(weight, codeBytes),
    scales: packed ? record(codeBytes, scaleBytes) : scale && rowsOf(scale, scaleBytes),
    scaleWidth: kind === "int8" ? 4 : 1,
    groupBytes: SCALE_GROUP * (codeBytes / headDim),
    columnStarts: starts,
    sample: Math.max(1, Math.floor(rows / starts.length / SAMPLED_ROWS)),
  }];
}

/** Weights in tiles: codes and scales do not share rows, so each is read by itself. */
function matrixJobs(layerId: number, weight: Tensor, scale: Tensor | null): ScanJob[] {
  const jobs = [plainJob(layerId, "wkv", weight)];
  if (!scale) return jobs;
  const [rows, width] = scale.shape;
  jobs.push({
    ...whole(layerId, "wkv_scale", scale),
    kind: "scale",
    rows,
    codes: null,
    scales: rowsOf(scale, width),
  });
  return jobs;
}

function plainJob(layerId: number, part: ScanJob["part"], tensor: Tensor): ScanJob {
  const [rows, width] = tensor.shape;
  const kind = tensor.dtype === "F8_E4M3" ? "fp8" : "bf16";
  const codes = rowsOf(tensor, width * (kind === "fp8" ? 1 : 2));
  return { ...whole(layerId, part, tensor), kind, rows, codes, scales: null };
}

function whole(layerId: number, part: ScanJob["part"], { name }: Tensor) {
  return {
    layerId,
    tensor: name,
    part,
    scaleWidth: 1 as const,
    groupBytes: SCALE_GROUP,
    columnStarts: [0],
    sample: 1,
  };
}

function rowsOf({ source, offset }: Tensor, bytes: number): RowBytes {
  return { path: source.name, offset, stride: bytes, at: 0, bytes };
}
