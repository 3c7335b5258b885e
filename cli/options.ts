import { EngramError } from "../lib/errors.ts";

/** Parser of an integer option between `least` and `most`. */
export function integer(option: string, least: number, most = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const value = /^-?\d+$/.test(text) ? Number(text) : NaN;
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      const range = most === Number.MAX_SAFE_INTEGER
        ? `${least} or more`
        : `from ${least} to ${most}`;
      throw new EngramError(
        "usage",
        `Cannot read ${option}: found "${text}", wanted an integer ${range}`,
        {
          where: option,
        },
      );
    }
    return value;
  };
}

/** Collects a repeatable option's values. */
export function collect<T>(parse: (text: string) => T) {
  return (text: string, previous: T[] | undefined): T[] => [...(previous ?? []), parse(text)];
}

/** Parser of a size in bytes: `80GB` (decimal), `80GiB` (binary), `4096`. */
export function size(option: string) {
  return (text: string): number => {
    const match = /^(\d+(?:\.\d+)?)\s*(?:([kmgtp])(i?)b?|b)?$/i.exec(text.trim());
    const power = match?.[2] ? "kmgtp".indexOf(match[2].toLowerCase()) + 1 : 0;
    const value = match ? Math.round(Number(match[1]) * (match[3] ? 1024 : 1000) ** power) : NaN;
    if (!Number.isSafeInteger(value)) {
      throw new EngramError(
        "usage",
        `Cannot read ${option}: found "${text}", wanted a size such as 80GB or 64GiB`,
        {
          where: option,
        },
      );
    }
    return value;
  };
}

/** Parser of a comma-separated list, at least one item. */
export function list<T>(parse: (text: string) => T) {
  return (text: string): T[] => text.split(",").map((item) => parse(item.trim()));
}

/** Parser of one of a few words. */
export function oneOf<const T extends string>(option: string, words: readonly T[]) {
  return (text: string): T => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new EngramError(
      "usage",
      `Cannot read ${option}: found "${text}", wanted one of ${words.join(", ")}`,
      {
        where: option,
      },
    );
  };
}
