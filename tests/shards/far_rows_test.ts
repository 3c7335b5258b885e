import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { layerTensors, writeCheckpoint } from "../checkpoint/small_checkpoint.ts";
import { cli } from "../run_cli.ts";
import { rawTensors } from "./raw_tensors.ts";

/** The primes from 2^26 on: two columns of a table whose codes alone are past 4 GiB. */
const PRIMES = [67_108_879, 67_108_913];
const ROWS = PRIMES[0] + PRIMES[1];
const RANKS = 4096;

/** Rows of every rank but the last, and the first row that the last one holds. */
const EACH = Math.ceil(ROWS / RANKS);
const START = EACH * (RANKS - 1);

const CONFIG = {
  engram_layer_ids: [1],
  engram_num_embeddings: [ROWS],
  engram_max_ngram_size: 2,
  engram_n_heads: 2,
  engram_head_dim: 32,
  engram_vocab_size: 2 ** 26,
  engram_compressed_vocab_size: 1000,
  engram_pad_token_id: 2,
  hidden_size: 32,
  hc_mult: 2,
  rms_norm_eps: 1e-20,
};

/** Writes a checkpoint of holes alone, but for the last row's codes and scale and the one before. */
function sparseCheckpoint(folder: string): void {
  writeCheckpoint(folder, { config: CONFIG });
  const header: Record<string, unknown> = {};
  let end = 0;
  for (const { name, dtype, shape } of layerTensors(1, ROWS)) {
    const wkv = name.endsWith("wkv.weight") ? [96, 64] : name.endsWith("wkv.scale") ? [3, 2] : null;
    const sizes = wkv ?? shape;
    const bytes = sizes.reduce((a, b) => a * b, dtype === "BF16" ? 2 : 1);
    header[name] = { dtype, shape: sizes, data_offsets: [end, end += bytes] };
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  using file = Deno.openSync(join(folder, "model.safetensors"), { write: true, create: true });
  const put = (bytes: Uint8Array, at: number) => {
    file.seekSync(at, Deno.SeekMode.Start);
    file.writeSync(bytes);
  };
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(json.length), true);
  put(length, 0);
  put(json, 8);
  const data = 8 + json.length;
  put(LAST_ROWS, data + (ROWS - 2) * 32);
  put(LAST_SCALES, data + ROWS * 32 + ROWS - 2);
  file.truncateSync(data + end);
}

const LAST_ROWS = Uint8Array.from({ length: 64 }, (_, i) => i + 1);
const LAST_SCALES = Uint8Array.of(120, 130);

Deno.test("the last of many ranks gets the rows past 4 GiB, in shards and packed", async () => {
  await inFolder(async (folder) => {
    const model = join(folder, "model");
    sparseCheckpoint(model);
    assert.ok((ROWS - 2) * 32 > 2 ** 32);
    const rank = ["--tp", `${RANKS}`, "--split", "rows", "--rank", `${RANKS - 1}`];
    const shards = join(folder, "shards");
    const shard = await cli("shard", model, ...rank, "--out", shards);
    assert.equal(shard.code, 0, shard.err);
    const name = "engram-rank-04095-of-04096.safetensors";
    const { tensors } = rawTensors(join(shards, name));
    const { shape, bytes } = tensors["layers.1.engram.embed.weight"];
    assert.deepEqual(shape, [ROWS - START, 32]);
    assert.deepEqual(bytes.subarray(-64), LAST_ROWS);
    assert.ok(bytes.subarray(0, -64).every((byte) => byte === 0));
    assert.deepEqual(tensors["layers.1.engram.embed.scale"].bytes.subarray(-2), LAST_SCALES);
    const verified = await cli("verify", model, "--shards", shards, "--partial");
    assert.equal(verified.code, 0, verified.err);

    const packed = join(folder, "packed");
    const offload = await cli("offload", model, ...rank, "--out", packed);
    assert.equal(offload.code, 0, offload.err);
    const records = rawTensors(join(packed, "engram-layer-00001.safetensors")).tensors;
    const [record] = Object.values(records);
    assert.deepEqual(record.shape, [ROWS - START, 33]);
    assert.deepEqual(
      record.bytes.subarray(-66),
      Uint8Array.of(...LAST_ROWS.subarray(0, 32), 120, ...LAST_ROWS.subarray(32), 130),
    );
  });
});
