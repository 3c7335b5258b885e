import { breathe } from "../bytes/breathe.ts";
import { type ByteSource, isSyncSource } from "../bytes/byte_source.ts";
import type { ColumnStats } from "./column_stats.ts";
import { RowScanner } from "./row_scanner.ts";
import { ScanMemory } from "./scan_memory.ts";
import type { RowBytes, ScanJob } from "./scan_job.ts";

/** Bytes read at a time: they are still in the processor's cache when they are looked at. */
const BLOCK_BYTES = 256 * 1024;

/** The same over a network, where each request costs a round trip. */
const REMOTE_BLOCK_BYTES = 8 * 2 ** 20;

/**
 * Reads rows `begin` to `end` of `job` and looks at every byte of them.
 *
 * @param open Gives the source of a path; it stays open.
 * @returns What was found, by column.
 */
export async function scanRows(
  job: ScanJob,
  begin: number,
  end: number,
  open: (path: string) => ByteSource,
  signal?: AbortSignal,
): Promise<Map<number, ColumnStats>> {
  const { codes, scales } = job;
  const packed = codes !== null && scales !== null && codes.path === scales.path &&
    codes.offset === scales.offset;
  const stride = (codes?.stride ?? 0) + (packed ? 0 : scales?.stride ?? 0);
  const place = (codes ?? scales)?.path;
  const local = place !== undefined && isSyncSource(open(place));
  const block = local ? BLOCK_BYTES : REMOTE_BLOCK_BYTES;
  const most = Math.max(1, Math.min(Math.floor(block / stride), end - begin));
  const apart = scales && !packed ? scales.stride : 0;
  const memory = new ScanMemory(most, codes?.stride ?? 0, apart);
  const scanner = new RowScanner(job, memory);
  for (let first = begin; first < end; first += most) {
    await breathe(signal);
    const rows = Math.min(most, end - first);
    const read = async (at: RowBytes | null, buffer: Uint8Array) => {
      if (!at) return null;
      const part = buffer.subarray(0, rows * at.stride);
      const source = open(at.path);
      const offset = at.offset + first * at.stride;
      if (isSyncSource(source)) source.readSync(part, offset);
      else await source.read(part, offset);
      return part;
    };
    const codeBytes = await read(codes, memory.codes);
    const scaleBytes = packed ? codeBytes : await read(scales, memory.scales);
    scanner.scan({ first, rows, codes: codeBytes, scales: scaleBytes });
  }
  return scanner.stats;
}
