import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { HashBatch } from "../../lib/hash/hash_batch.ts";
import { NgramHasher } from "../../lib/hash/ngram_hasher.ts";
import { SlotCache } from "../../lib/hash/slot_cache.ts";
import { StreamHasher } from "../../lib/hash/stream_hasher.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import type { Layout } from "../../lib/layout/layout.ts";
import { loadTokenizer } from "../../lib/tokenizer/load_tokenizer.ts";
import { buildTokenMap } from "../../lib/tokenizer/token_map.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

interface Case {
  case: string;
  layer_ids: number[];
  max_ngram_size: number;
  n_heads: number;
  engram_vocab_size: number;
  compressed_vocab_size: number;
  pad_id: number;
  token_map: string;
}

const golden = goldenTensors("hashes.safetensors");
const cases: Case[] = JSON.parse(golden.metadata.cases);

let built: Promise<Int32Array> | undefined;

/** DeepSeek-V3's map, built; its digest is checked where maps are tested. */
function deepseekMap(): Promise<Int32Array> {
  built ??= realTokenizer("deepseek_v3").then(loadTokenizer)
    .then((tokenizer) => buildTokenMap(tokenizer).map);
  return built;
}

/** The map of the batch `released`, of the released size but in an order of its own. */
const batchMap = golden.get("released.token_map", "I32").values;

function mapOf(wanted: Case): Promise<Int32Array> {
  return wanted.case === "released" ? Promise.resolve(batchMap) : deepseekMap();
}

/** The released model's map: DeepSeek-V3's up to 127999, then one key a token. */
async function releasedMap(): Promise<Int32Array> {
  const map = await deepseekMap();
  const whole = Int32Array.from(
    { length: 129_280 },
    (_, id) => id < 128_000 ? map[id] : id - 30_188,
  );
  const digest = createHash("sha256").update(new Uint8Array(whole.buffer)).digest("hex");
  assert.equal(digest, released.token_map.sha256_int32_le);
  return whole;
}

function layoutOf(wanted: Case): Layout {
  return buildLayout({
    where: wanted.case,
    layerIds: wanted.layer_ids,
    maxNgramSize: wanted.max_ngram_size,
    nHeads: wanted.n_heads,
    vocabSize: wanted.engram_vocab_size,
    compressedVocabSize: wanted.compressed_vocab_size,
  });
}

function batchOf(name: string, map: Int32Array): Required<Omit<HashBatch, "slots" | "blockTable">> {
  const window = golden.get(`${name}.window`, "I32");
  return {
    ids: golden.get(`${name}.token_ids`, "I32").values.map((id) => map[id]),
    positions: Float64Array.from(golden.get(`${name}.positions`, "I64").values, Number),
    starts: golden.get(`${name}.starts`, "I32").values,
    dead: golden.get(`${name}.dead`, "U8").values,
    window: window.values.map((id) => (id < 0 ? id : map[id])),
    windowDead: golden.get(`${name}.window_dead`, "U8").values,
    windowDepth: window.shape[1],
  };
}

for (const wanted of cases) {
  const expected = golden.get(`${wanted.case}.hash_ids`, "I32");

  Deno.test(`golden batch ${wanted.case}`, async () => {
    const hasher = new NgramHasher(layoutOf(wanted), wanted.pad_id);
    const found = hasher.hash(batchOf(wanted.case, await mapOf(wanted)));
    assert.equal(hasher.layout.columns, expected.shape[2]);
    assert.deepEqual(found, expected.values);
  });

  for (const chunk of [1, 7]) {
    Deno.test(`golden request of ${wanted.case} in chunks of ${chunk}`, async () => {
      const hasher = new NgramHasher(layoutOf(wanted), wanted.pad_id);
      const batch = batchOf(wanted.case, await mapOf(wanted));
      // The request of 64 tokens from position 0 on.
      const [first, end] = batch.starts.subarray(6, 8);
      const ids = batch.ids.subarray(first, end);
      const dead = batch.dead.subarray(first, end);
      const per = hasher.idsPerToken;
      const rows = expected.values.slice(first * per, end * per);

      const stream = new StreamHasher(hasher);
      const cache = new SlotCache();
      cache.bind({}, 5, 16);
      const blockTable = Int32Array.of(3, 0, 4, 1);
      const streamed: number[] = [];
      const cached: number[] = [];
      for (let at = 0; at < 64; at += chunk) {
        const part = { ids: ids.subarray(at, at + chunk), dead: dead.subarray(at, at + chunk) };
        streamed.push(...stream.push(part.ids, part.dead));
        const positions = Int32Array.from(part.ids, (_, i) => at + i);
        const slots = positions.map((p) => blockTable[Math.floor(p / 16)] * 16 + (p % 16));
        const starts = Int32Array.of(0, part.ids.length);
        cached.push(
          ...hasher.hash({ ...part, positions, starts, windowDepth: 0, slots, blockTable }, cache),
        );
      }
      assert.deepEqual(streamed, Array.from(rows));
      assert.deepEqual(cached, Array.from(rows));
    });
  }
}

interface Released {
  whole_vocabulary: { [key: string]: string };
  token_map: { sha256_int32_le: string };
  vectors: {
    text?: string;
    token_ids?: number[];
    compressed_ids: number[];
    hash_ids: number[][][];
  }[];
}

const released = goldenJson<Released>("released.json");
const releasedCase = cases[0];

for (const [i, vector] of released.vectors.entries()) {
  Deno.test(`released vector ${i}: ${vector.text ?? "compressed ids"}`, async () => {
    const map = await releasedMap();
    const hasher = new NgramHasher(layoutOf(releasedCase), map[2]);
    if (vector.token_ids) {
      assert.deepEqual(vector.token_ids.map((id) => map[id]), vector.compressed_ids);
    }
    const found = new StreamHasher(hasher).push(Int32Array.from(vector.compressed_ids));
    assert.deepEqual(Array.from(found), vector.hash_ids.flat(2));
  });
}

Deno.test("the released model's whole vocabulary as one request has the published digest", async () => {
  const map = await releasedMap();
  const stream = new StreamHasher(new NgramHasher(layoutOf(releasedCase), map[2]));
  const digest = createHash("sha256");
  for (let at = 0; at < map.length; at += 4096) {
    digest.update(new Uint8Array(stream.push(map.subarray(at, at + 4096)).buffer));
  }
  assert.equal(
    digest.digest("hex"),
    released.whole_vocabulary["sha256_int32_le_of_[129280,2,24]"],
  );
});
