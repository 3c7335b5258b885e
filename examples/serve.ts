/**
 * How a serving engine hashes: prompts in chunks, then token by token, requests mixed in one batch,
 * with the compressed ids kept beside the KV cache.
 *
 *     deno run examples/serve.ts
 */
import { buildLayout, NgramHasher, SlotCache } from "../lib/mod.ts";

const layout = buildLayout({
  where: "example",
  layerIds: [1, 14],
  maxNgramSize: 4,
  nHeads: 8,
  vocabSize: 16_000_000,
  compressedVocabSize: 99_092,
});
const hasher = new NgramHasher(layout, 1);

const BLOCK = 16;
const kvCache = {}; // the engine's own; only its identity counts
const cache = new SlotCache();
cache.bind(kvCache, 8, BLOCK);

// Two requests, each with two blocks of the cache.
const blockTable = Int32Array.of(5, 2, 0, 7);
const slotOf = (request: number, position: number) =>
  blockTable[2 * request + Math.floor(position / BLOCK)] * BLOCK + position % BLOCK;

/** Hashes some tokens of both requests; `parts` are their ids and first positions. */
function step(parts: readonly { ids: number[]; first: number }[]): Int32Array {
  const positions = parts.flatMap(({ ids, first }) => ids.map((_, i) => first + i));
  const slots = parts.flatMap(({ ids, first }, r) => ids.map((_, i) => slotOf(r, first + i)));
  return hasher.hash({
    ids: Int32Array.from(parts.flatMap(({ ids }) => ids)),
    positions: Int32Array.from(positions),
    starts: Int32Array.of(0, parts[0].ids.length, parts[0].ids.length + parts[1].ids.length),
    windowDepth: 0,
    slots: Int32Array.from(slots),
    blockTable,
  }, cache);
}

const first = [237, 5095, 251, 7208, 242, 11, 12, 13];
const second = [5, 6, 7, 8, 9];

// The first prompt comes in two chunks; the second request begins beside the second of them.
const steps = [
  step([{ ids: first.slice(0, 5), first: 0 }, { ids: [], first: 0 }]),
  step([{ ids: first.slice(5, 7), first: 5 }, { ids: second.slice(0, 4), first: 0 }]),
  step([{ ids: first.slice(7), first: 7 }, { ids: second.slice(4), first: 4 }]),
];
console.log(`rows of ${steps.map((rows) => rows.length / hasher.idsPerToken).join(", ")} tokens`);

// The last token of the first request looks back over three steps: the same rows as in one piece.
const whole = hasher.hash({
  ids: Int32Array.from(first),
  positions: Int32Array.from(first.keys()),
  starts: Int32Array.of(0, first.length),
  windowDepth: 0,
});
const last = steps[2].subarray(0, hasher.idsPerToken);
const same = last.every((row, i) => row === whole[whole.length - hasher.idsPerToken + i]);
console.log(same ? "the same rows as the whole request hashed at once" : "DIFFERENT ROWS");
