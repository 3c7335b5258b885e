import type { EngramConfig } from "../checkpoint/engram_config.ts";
import type { TokenMap } from "../tokenizer/token_map.ts";
import { knownMap, RELEASED_MAP } from "../tokenizer/known_maps.ts";
import { type Check, done } from "./check.ts";

/** Row counts of the released model; a checkpoint that has them must have the released map. */
const RELEASED_ROWS: readonly number[] = [384_006_168, 384_016_682];

/** Compares a token map with the config's compressed size and with the digests that are known. */
export function verifyMap(config: EngramConfig, map: TokenMap, place: string): Check {
  const known = knownMap(map.sha256);
  const stated = config.compressedVocabSize;
  const whose = known !== null ? `the map of ${known}` : "not a known map";
  const detail =
    `${map.map.length} tokens to ${map.compressedVocabSize}; sha256 ${map.sha256}, ${whose}`;
  const found: { tensor: null; file: string; message: string }[] = [];
  const fault = (message: string) => found.push({ tensor: null, file: place, message });
  if (stated !== null && stated !== map.compressedVocabSize) {
    fault(
      `the token map has ${map.compressedVocabSize} keys, ` +
        `wanted ${stated} (engram_compressed_vocab_size)`,
    );
  } else if (isReleased(config) && map.sha256 !== RELEASED_MAP) {
    fault(
      `the token map's sha256 is ${map.sha256}, wanted the released model's ${RELEASED_MAP}: ` +
        "of the right size, but in another order",
    );
  }
  if (config.padTokenId >= map.map.length) {
    fault(`engram_pad_token_id ${config.padTokenId} is past the map's ${map.map.length} tokens`);
  }
  return done("map", detail, found);
}

function isReleased({ numEmbeddings }: EngramConfig): boolean {
  return numEmbeddings !== null && numEmbeddings.length === RELEASED_ROWS.length &&
    numEmbeddings.every((rows, i) => rows === RELEASED_ROWS[i]);
}
