import type { Part } from "./tokenizer.ts";

/** A Sequence's parts in order, nested ones too; one part by itself; none. */
export function flatten(part: Part | null, key: string): Part[] {
  if (part === null) return [];
  if (part.type !== "Sequence") return [part];
  return (part[key] as Part[]).flatMap((inner) => flatten(inner, key));
}
