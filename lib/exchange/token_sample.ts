import { EngramError } from "../errors.ts";
import type { Dump } from "./dump.ts";
import type { TokenSample } from "./hash_rules.ts";

/** The tokens of a dump: `token_ids` [T], and where they are there `dead` [T] and `starts`. */
export interface DumpTokens {
  /** T. */
  readonly tokens: number;
  /** First token of each request. */
  readonly starts: Float64Array;
  /** Tokens [first, end), with `lead` before them as far as there are any. */
  sample(first: number, end: number, lead: number): Promise<TokenSample>;
}

/** The tokens `dump` was made of; null where it does not say. */
export async function tokensOf(dump: Dump, mapped: number): Promise<DumpTokens | null> {
  const tokenIds = dump.arrays.get("token_ids");
  if (!tokenIds || tokenIds.shape.length !== 1) return null;
  const [tokens] = tokenIds.shape;
  const dead = dump.arrays.get("dead");
  const boundaries = dump.arrays.get("starts");
  const starts = boundaries
    ? await boundaries.read(0, boundaries.shape[0])
    : Float64Array.of(0, tokens);
  return {
    tokens,
    starts,
    async sample(first, end, lead) {
      const from = Math.max(0, first - lead);
      const ids = await tokenIds.read(from, end - from);
      const bad = ids.findIndex((id) => !(id >= 0 && id < mapped));
      if (bad >= 0) {
        throw new EngramError(
          "mismatch",
          `Cannot look for the cause: token id ${ids[bad]} at token ${from + bad} of ` +
            `\`${dump.name}\` is not on the token map, wanted below ${mapped}`,
          { where: dump.name, hint: "Give the tokenizer or map that the dump was made with" },
        );
      }
      const flags = dead ? await dead.read(from, end - from) : new Float64Array(end - from);
      const positions = new Float64Array(end - from);
      let request = 0;
      for (let token = from; token < end; token++) {
        while (starts[request + 1] <= token && request + 1 < starts.length) request++;
        positions[token - from] = token - starts[request];
      }
      return {
        first,
        lead: first - from,
        tokenIds: Int32Array.from(ids),
        dead: Uint8Array.from(flags, (flag) => (flag ? 1 : 0)),
        positions,
      };
    },
  };
}
