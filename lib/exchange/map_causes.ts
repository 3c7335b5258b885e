import { knownMap } from "../tokenizer/known_maps.ts";
import { mapDigest } from "../tokenizer/token_map.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import type { Cause } from "./cause.ts";
import { MAP_MISTAKES, type MapMistake, mistakenMap } from "./mistaken_maps.ts";

/** Why an engine's token map is not ours. */
export function mapCauses(
  actual: Int32Array,
  expected: Int32Array,
  tokenizer: Tokenizer | null,
): Cause[] {
  const arrays = ["token_map"];
  const is = (map: Int32Array) =>
    map.length === actual.length && map.every((id, i) => id === actual[i]);
  const causes: Cause[] = [];
  if (tokenizer) {
    for (const mistake of Object.keys(MAP_MISTAKES) as MapMistake[]) {
      if (!is(mistakenMap(tokenizer, mistake).map)) continue;
      const id = `map-${mistake.replaceAll(" ", "-")}`;
      causes.push({ id, cause: MAP_MISTAKES[mistake], arrays });
    }
  }
  if (is(expected.map((_, id) => id))) {
    causes.push({ id: "map-missing", cause: "every token id stands for itself", arrays });
  }
  if (causes.length > 0) return causes;
  const known = knownMap(mapDigest(actual));
  if (known !== null) {
    return [{ id: "map-other", cause: `the token map is that of ${known}`, arrays }];
  }
  // A map made by the rule numbers its keys in order of first sight, whatever the tokenizer.
  let next = 0;
  const whole = actual.every((id) => id >= 0 && id <= next && (id === next ? ++next : true));
  if (!whole) return [];
  const size = actual.length === expected.length ? "" : ` of ${actual.length} tokens`;
  return [{
    id: "map-other",
    cause: `the token map is whole, but of another tokenizer${size}, or of another rule`,
    arrays,
  }];
}
