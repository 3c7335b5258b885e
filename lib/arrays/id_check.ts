import { EngramError } from "../errors.ts";

/** Token ids are int32 in every engine. */
const MAX_ID = 2 ** 31 - 1;

/**
 * `value` as a token id.
 *
 * @throws an {@linkcode EngramError} that names its position in the request when it is negative,
 * fractional, no number, or past int32.
 */
export function idOf(value: number | bigint, position: number, where: string): number {
  if (value >= 0 && value <= MAX_ID && (typeof value === "bigint" || Number.isInteger(value))) {
    return Number(value);
  }
  throw new EngramError(
    "malformed",
    `Cannot read token ids of \`${where}\`: found ${value} at position ${position}, ` +
      `wanted an integer from 0 to ${MAX_ID}`,
    { where },
  );
}
