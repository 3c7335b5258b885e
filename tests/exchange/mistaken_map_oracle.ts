/** One step of the normalizing, as the mistake leaves it. */
export interface Steps {
  readonly marks?: boolean;
  readonly case?: boolean;
  readonly trim?: boolean;
  readonly oneSpace?: boolean;
}

/** A map made from decoded texts by steps written out anew; exact where the texts are old Unicode. */
export function mapBy(texts: readonly string[], raw: readonly string[], steps: Steps): number[] {
  const keys = new Map<string, number>();
  return texts.map((text, id) => {
    let key = raw[id];
    if (!text.includes("\uFFFD")) {
      let made = text.normalize("NFKC").normalize("NFD");
      if (steps.marks !== false) made = made.replace(/\p{M}/gu, "");
      if (steps.case !== false) made = [...made].map((char) => char.toLowerCase()).join("");
      made = made.replace(/[ \t\r\n]+/g, " ");
      const one = made === " " && steps.oneSpace !== false;
      if (!one && steps.trim !== false) {
        made = made.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "");
      }
      key = made || text;
    }
    if (!keys.has(key)) keys.set(key, keys.size);
    return keys.get(key)!;
  });
}
