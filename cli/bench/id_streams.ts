import { mulberry32 } from "../random.ts";

/** Kinds of token streams a benchmark can be fed with. */
export const ID_KINDS = ["random", "zipf", "repeated", "text"] as const;

/** One of {@linkcode ID_KINDS}. */
export type IdKind = typeof ID_KINDS[number];

/**
 * `count` compressed ids below `vocabulary`, the same for the same arguments.
 * `random`: uniform, the hardest for caches; `zipf`: rank frequencies like a text's (exponent 1), but
 * without its order; `repeated`: one id over and over, the kindest. (`text` comes from real files.)
 */
export function idStream(
  kind: Exclude<IdKind, "text">,
  count: number,
  vocabulary: number,
): Int32Array {
  const random = mulberry32(count);
  switch (kind) {
    case "random":
      return Int32Array.from({ length: count }, () => Math.floor(random() * vocabulary));
    case "zipf":
      // The continuous law's inverse: rank = vocabulary^u has density 1 / rank.
      return Int32Array.from(
        { length: count },
        () => Math.min(vocabulary - 1, Math.floor(vocabulary ** random()) - 1),
      );
    case "repeated":
      return new Int32Array(count).fill(Math.floor(vocabulary / 2));
  }
}

/** Distinct values of `ids`. */
export function distinct(ids: ArrayLike<number>): number {
  return new Set(Array.from(ids)).size;
}
