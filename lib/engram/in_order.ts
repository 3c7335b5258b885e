import { breathe } from "../bytes/breathe.ts";
import { EngramError } from "../errors.ts";

/** Pieces under way at once: one reads or uploads while another runs or is written. */
const UNDER_WAY = 2;

/**
 * Does `work` on each item, two at a time, and gives the results in order. Lets signals in between
 * items; an aborted one ends the work with an `EngramError` of kind `interrupted`.
 */
export async function* inOrder<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  work: (item: T) => Promise<R>,
  signal?: AbortSignal,
): AsyncGenerator<R> {
  const underWay: Promise<R>[] = [];
  try {
    for await (const item of items) {
      await breathe();
      if (signal?.aborted) throw new EngramError("interrupted", "Interrupted");
      const result = work(item);
      // A failure is met when its turn comes; until then it must not count as unhandled.
      result.catch(() => {});
      underWay.push(result);
      if (underWay.length >= UNDER_WAY) yield await underWay.shift()!;
    }
    while (underWay.length) yield await underWay.shift()!;
  } finally {
    await Promise.allSettled(underWay);
  }
}
