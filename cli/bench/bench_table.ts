import { join } from "node:path";
import { openFile } from "../../lib/bytes/file_source.ts";
import { OutputFile } from "../../lib/bytes/output_file.ts";
import { tableOf } from "../../lib/checkpoint/checkpoint.ts";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import type { Layout } from "../../lib/layout/layout.ts";
import type { Dtype } from "../../lib/safetensors/dtype.ts";
import type { Tensor } from "../../lib/safetensors/tensor.ts";
import type { StoredLayer } from "../../lib/table/table_parts.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { RELEASED } from "./released.ts";
import type { BenchRequest } from "./request.ts";

/** One layer's table to look rows up in: a checkpoint's first, or a synthetic one. */
export interface BenchTable extends Disposable {
  /** Layout with this layer alone. */
  readonly layout: Layout;
  /** Where the table lies. */
  readonly table: StoredLayer;
  /** Local files it lies in, for dropping their cached pages. */
  readonly paths: readonly string[];
}

/** Opens the checkpoint's first layer, or writes a table of random rows in the scratch folder. */
export async function benchTable(request: BenchRequest): Promise<BenchTable> {
  return request.checkpoint === null
    ? syntheticTable(request)
    : await checkpointTable(request.checkpoint);
}

async function checkpointTable(place: string): Promise<BenchTable> {
  const checkpoint = await openCheckpoint(place);
  const [table] = checkpoint.layers;
  const layout = buildLayout(checkpoint.config, checkpoint.config.compressedVocabSize ?? 1);
  const layer = layout.layers.find(({ layerId }) => layerId === table.layerId)!;
  const { weight, scale } = tableOf(table);
  return {
    layout: { ...layout, layers: [layer] },
    table,
    paths: [...new Set([weight, ...(scale ? [scale] : [])].map(({ source }) => source.name))],
    [Symbol.dispose]: () => checkpoint.close(),
  };
}

function syntheticTable({ tableBytes, scratch }: BenchRequest): BenchTable {
  const encoding = rowEncoding("fp8", RELEASED.headDim);
  const columns = (RELEASED.maxNgramSize - 1) * RELEASED.nHeads;
  const vocabSize = Math.max(2, Math.floor(tableBytes / encoding.recordBytes / columns));
  const layout = buildLayout({ ...RELEASED, layerIds: [1], vocabSize });
  const [layer] = layout.layers;
  const path = join(scratch, "table.bin");
  const size = layer.rows * encoding.recordBytes;
  using output = OutputFile.create(path, { size });
  writeRandomBytes(output, size);
  output.commit();
  const source = openFile(path);
  const tensor = (name: string, dtype: Dtype, width: number, offset: number): Tensor => ({
    name,
    dtype,
    shape: [layer.rows, width],
    offset,
    byteLength: layer.rows * width,
    source,
  });
  const weight = tensor("codes", "F8_E4M3", encoding.codeBytes, 0);
  const scale = tensor("scales", "F8_E8M0", encoding.scaleBytes, weight.byteLength);
  return {
    layout,
    table: {
      layerId: layer.layerId,
      encoding,
      rows: layer.rows,
      packed: false,
      embed: { weight, scale },
    },
    paths: [path],
    [Symbol.dispose]: () => source.close(),
  };
}

/** Any bytes are rows; one random piece over and over is written at the disk's speed. */
function writeRandomBytes(output: OutputFile, size: number): void {
  const piece = new Uint8Array(2 ** 20);
  for (let at = 0; at < piece.length; at += 65_536) {
    crypto.getRandomValues(piece.subarray(at, at + 65_536));
  }
  for (let left = size; left > 0; left -= piece.length) {
    output.write(left < piece.length ? piece.subarray(0, left) : piece);
  }
}
