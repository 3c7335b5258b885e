/** Numbers as a JSON list that reads back as they are; NaN and infinities, which JSON lacks, as strings. */
export function jsonNumbers(values: readonly number[]): string {
  return `[${values.map(jsonNumber).join(",")}]`;
}

function jsonNumber(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  return Number.isFinite(value) ? String(value) : `"${value}"`;
}
