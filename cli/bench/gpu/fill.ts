import type { GpuDevice } from "../../../lib/gpu/gpu_device.ts";
import type { GpuTable } from "../../../lib/gpu/gpu_table.ts";
import { type Dispatch, gridOf } from "../../../lib/gpu/kernel.ts";

const SOURCE = `
struct Sizes { words: u32, seed: u32, record: u32, codes: u32 }
@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

fn mixed(n: u32) -> u32 {
  var x = (n ^ sizes.seed) * 747796405u + 2891336453u;
  x = ((x >> ((x >> 28u) + 4u)) ^ x) * 277803737u;
  return x ^ (x >> 22u);
}

@compute @workgroup_size(256)
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
) {
  let at = (group.x + group.y * groups.x) * 256u + thread;
  if at < sizes.words {
    let x = mixed(at);
    // Codes that are not NaN; scales from 112 to 127.
    let codes = x & ~((((x & 0x7f7f7f7fu) + 0x01010101u) & 0x80808080u) >> 1u);
    out[at] = select(codes, (x & 0x0f0f0f0fu) | 0x70707070u, at % sizes.record >= sizes.codes);
  }
}`;

/** The 32-bit word a filled buffer holds at `at`. */
export function filledWord(at: number, seed: number, scales: boolean): number {
  let x = (Math.imul(at ^ seed, 747796405) + 2891336453) >>> 0;
  x = Math.imul((x >>> ((x >>> 28) + 4)) ^ x, 277803737) >>> 0;
  x = (x ^ (x >>> 22)) >>> 0;
  if (scales) return ((x & 0x0f0f0f0f) | 0x70707070) >>> 0;
  return (x & ~((((x & 0x7f7f7f7f) + 0x01010101) & 0x80808080) >>> 1)) >>> 0;
}

/** Fills a buffer with fp8 codes without NaN; the words of a record past its codes with scale bytes. */
export function fill(
  buffer: GPUBuffer,
  bytes: number,
  seed: number,
  record = 1,
  codes = 1,
): Dispatch {
  const words = Math.ceil(bytes / 4);
  return {
    kernel: { name: "fill", source: SOURCE },
    uniforms: [words, seed, record, codes],
    buffers: [{ buffer, size: words * 4 }],
    grid: gridOf(Math.ceil(words / 256)),
  };
}

/** Fills a whole table; its words are {@linkcode filledWord} with the chunk's number as the seed. */
export async function fillTable(gpu: GpuDevice, table: GpuTable): Promise<void> {
  const { split: { chunkRows }, stride, encoding } = table;
  for (const [i, chunk] of table.chunks.entries()) {
    const rows = Math.min(chunkRows, table.rows - i * chunkRows);
    await gpu.submit([fill(chunk, rows * stride, i, stride / 4, encoding.codeBytes / 4)]);
  }
  await gpu.finish();
}

/** Row `row` of a filled table, as its record: codes, then scales. */
export function filledRecord(table: GpuTable, row: number): Uint8Array {
  const { stride, encoding: { codeBytes, recordBytes }, split: { chunkRows } } = table;
  const chunk = Math.floor(row / chunkRows);
  const first = (row % chunkRows) * stride / 4;
  const words = Uint32Array.from(
    { length: stride / 4 },
    (_, i) => filledWord(first + i, chunk, i >= codeBytes / 4),
  );
  return new Uint8Array(words.buffer, 0, recordBytes);
}
