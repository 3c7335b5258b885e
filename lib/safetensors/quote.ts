/** Names come from files: they may be megabytes long, or try to steer the terminal. */
const MOST_SHOWN = 120;

/** A name in quotes for a message: shortened, with control characters and bad surrogates escaped. */
export function quote(name: string): string {
  const shown = name.length <= MOST_SHOWN ? name : name.slice(0, MOST_SHOWN) + "…";
  // JSON leaves DEL, the C1 controls and the marks that turn the text's direction as they are.
  return JSON.stringify(shown).replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A dtype and shape for a message, such as `F32 [2, 3]`; a long shape is shortened. */
export function quoteShape(dtype: string, shape: readonly number[]): string {
  const shown = shape.slice(0, 8).join(", ");
  return shape.length <= 8
    ? `${dtype} [${shown}]`
    : `${dtype} [${shown}, … ${shape.length} dimensions]`;
}
