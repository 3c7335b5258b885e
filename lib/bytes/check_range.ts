import { EngramError } from "../errors.ts";

/** Throws unless the bytes `offset … offset + length` lie inside a source of `size` bytes. */
export function checkRange(name: string, size: number, offset: number, length: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0 && length <= size - offset) return;
  throw new EngramError(
    "malformed",
    `Cannot read \`${name}\`: found a range of ${length} bytes from byte ${offset}, ` +
      `wanted one inside its ${size} bytes`,
    { where: name },
  );
}
