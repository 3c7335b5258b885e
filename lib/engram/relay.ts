import { EngramError } from "../errors.ts";
import type { Bf16, RelayInput } from "./kernels.ts";

/**
 * Re-lays rows gathered along tokens for the tokens of one rank under sequence parallel:
 * bf16 [tp, T, localColumns * headDim] to [chunk, columns, headDim], chunk = ceil(T / tp).
 * Tokens past the end are zeros.
 */
export function relay(input: RelayInput): Bf16 {
  checkRelay(input);
  const { tp, rank, tokens, localColumns, columns, headDim, gathered } = input;
  const chunk = Math.ceil(tokens / tp);
  const out = new Uint16Array(chunk * columns * headDim);
  const first = rank * chunk;
  const width = localColumns * headDim;
  for (let t = first; t < Math.min(first + chunk, tokens); t++) {
    for (let owner = 0; owner * localColumns < columns; owner++) {
      const kept = Math.min(localColumns, columns - owner * localColumns) * headDim;
      const from = (owner * tokens + t) * width;
      out.set(
        gathered.subarray(from, from + kept),
        (t - first) * columns * headDim + owner * width,
      );
    }
  }
  return out;
}

/** Checks the sizes of what is re-laid. */
export function checkRelay(input: RelayInput): void {
  const { tp, rank, tokens, localColumns, columns, headDim, gathered } = input;
  const wrong = !(rank >= 0 && rank < tp)
    ? `rank ${rank}, wanted 0 to ${tp - 1}`
    : localColumns * tp < columns
    ? `${localColumns} columns for each of ${tp} ranks, wanted ${columns} in all`
    : gathered.length !== tp * tokens * localColumns * headDim
    ? `${gathered.length} gathered values, wanted ${tp * tokens * localColumns * headDim}`
    : undefined;
  if (wrong) {
    throw new EngramError("usage", `Cannot re-lay rows of ${tokens} tokens: found ${wrong}`);
  }
}
