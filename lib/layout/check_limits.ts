import { EngramError } from "../errors.ts";

/** A check that numbers of the config at `where` are integers within their limits. */
export function checkLimits(
  where: string,
): (name: string, value: number, least: number, most: number) => void {
  return (name, value, least, most) => {
    if (Number.isSafeInteger(value) && value >= least && value <= most) return;
    throw new EngramError(
      "malformed",
      `Cannot lay out ${where}: ${name} is ${value}, wanted an integer from ${least} to ${most}`,
      { where },
    );
  };
}
