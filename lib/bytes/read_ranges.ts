import type { ByteSource, ReadRange } from "./byte_source.ts";

/** Reads under way at once in a source that takes them one by one. */
const PARALLEL = 16;

/** Reads many pieces of `source`; one that fails fails the whole. */
export async function readRanges(source: ByteSource, ranges: readonly ReadRange[]): Promise<void> {
  if (source.readRanges) return await source.readRanges(ranges);
  let next = 0;
  const reader = async () => {
    while (next < ranges.length) {
      const { offset, into } = ranges[next++];
      await source.read(into, offset);
    }
  };
  const readers = await Promise.allSettled(Array.from({ length: PARALLEL }, reader));
  const failed = readers.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}
