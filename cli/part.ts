import { EngramError } from "../lib/errors.ts";

/** One of several equal parts of a job, so that machines can share it. */
export interface Part {
  /** From 0. */
  readonly index: number;
  readonly of: number;
}

/** More parts than machines anyone has; a slip of the keyboard is found at once. */
const MAX_PARTS = 1_000_000;

/** Parser of `--part I/N`, with I from 0 as job arrays count. */
export function part(text: string): Part {
  const match = /^(\d+)\/(\d+)$/.exec(text);
  const [index, of] = match ? [Number(match[1]), Number(match[2])] : [NaN, NaN];
  if (index < of && of <= MAX_PARTS) return { index, of };
  throw new EngramError(
    "usage",
    `Cannot read --part: found "${text}", wanted I/N with I from 0 to N - 1`,
    { where: "--part", hint: "The first of four parts is 0/4, the last is 3/4" },
  );
}

/** Where `part` of `count` things begins and ends: the parts cover them once and differ by one. */
export function partRange(count: number, { index, of }: Part): [begin: number, end: number] {
  // Products pass 2^53 long before counts do.
  const cut = (i: number) => Number((BigInt(count) * BigInt(i)) / BigInt(of));
  return [cut(index), cut(index + 1)];
}

/**
 * Which of some things with sizes fall to `part`, as [begin, end): a run of them, so that the parts'
 * results set one after another are the whole's; each goes where its middle lies.
 */
export function partOfSizes(sizes: readonly number[], { index, of }: Part): [number, number] {
  // One more each, so that things without size are dealt out too.
  const total = sizes.reduce((sum, size) => sum + size + 1, 0);
  let before = 0;
  const owner = sizes.map((size) => {
    const middle = before + (size + 1) / 2;
    before += size + 1;
    return Math.min(of - 1, Math.floor((middle * of) / total));
  });
  const begin = owner.findIndex((part) => part >= index);
  if (begin < 0) return [sizes.length, sizes.length];
  const end = owner.findIndex((part) => part > index);
  return [begin, end < 0 ? sizes.length : end];
}
