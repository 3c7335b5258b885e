import assert from "node:assert/strict";
import { join } from "node:path";
import { openOffload } from "../../lib/offload/open_offload.ts";
import { EngramError } from "../../lib/errors.ts";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { rawTensors } from "../shards/raw_tensors.ts";

const MINI = goldenPath("mini");
const SOURCE = {
  ...rawTensors(join(MINI, "model-00001-of-00002.safetensors")).tensors,
  ...rawTensors(join(MINI, "model-00002-of-00002.safetensors")).tensors,
};
const MARKER = "engram-offload.finished";
const MANIFEST = "engram-offload.json";
const FILES = ["engram-layer-00001.safetensors", "engram-layer-00014.safetensors"];

async function pack(out: string, ...more: string[]) {
  const result = await cli("offload", MINI, "--out", out, "--json", ...more);
  assert.equal(result.code, 0, result.err);
  return result.json();
}

/** A layer's records by hand: codes of a row, then its scales. */
function records(layer: number, rows: number[]): Uint8Array {
  const codes = SOURCE[`layers.${layer}.engram.embed.weight`].bytes;
  const scales = SOURCE[`layers.${layer}.engram.embed.scale`].bytes;
  return Uint8Array.from(rows.flatMap((row) => [
    ...codes.subarray(row * 64, (row + 1) * 64),
    ...scales.subarray(row * 2, (row + 1) * 2),
  ]));
}

Deno.test("a packed file holds each row's codes, then its scales", async () => {
  await inFolder(async (folder) => {
    await pack(folder);
    assert.deepEqual(namesIn(folder), [...FILES, MARKER, MANIFEST]);
    for (const [layer, rows, file] of [[1, 3698, FILES[0]], [14, 6938, FILES[1]]] as const) {
      const { tensors } = rawTensors(join(folder, file));
      const [tensor] = Object.values(tensors);
      assert.equal(tensor.dtype, "U8");
      assert.deepEqual(tensor.shape, [rows, 66]);
      assert.deepEqual(tensor.bytes, records(layer, Array.from({ length: rows }, (_, i) => i)));
    }
  });
});

Deno.test("one rank's packed rows are its columns' rows alone", async () => {
  await inFolder(async (folder) => {
    const { rank } = await pack(folder, "--tp", "12", "--rank", "1", "--split", "strided");
    assert.deepEqual(rank, { tp: 12, dp: 1, split: "strided", rank: 1 });
    // Columns 1 and 13 of layer 1: primes 97 | 101, … , 179 | 181.
    const primes: number[] = JSON.parse(
      rawTensors(goldenPath("mini/expected.safetensors")).metadata.primes,
    )[0].flat();
    const rows = [1, 13].flatMap((column) => {
      const start = primes.slice(0, column).reduce((a, b) => a + b, 0);
      return Array.from({ length: primes[column] }, (_, i) => start + i);
    });
    const [tensor] = Object.values(rawTensors(join(folder, FILES[0])).tensors);
    assert.deepEqual(tensor.bytes, records(1, rows));
    assert.equal((await cli("verify", MINI, "--offload", folder)).code, 0);
  });
});

Deno.test("unpacking gives the source's tensors back bit for bit", async () => {
  await inFolder(async (folder) => {
    const [packed, out] = [join(folder, "packed"), join(folder, "out")];
    await pack(packed);
    const unpacked = await cli("offload", packed, "--unpack", "--out", out);
    assert.equal(unpacked.code, 0, unpacked.err);
    for (const [layer, file] of [[1, FILES[0]], [14, FILES[1]]] as const) {
      const { tensors } = rawTensors(join(out, file));
      const names = [`layers.${layer}.engram.embed.weight`, `layers.${layer}.engram.embed.scale`];
      assert.deepEqual(Object.keys(tensors).sort(), names.toSorted());
      for (const name of names) assert.deepEqual(tensors[name], SOURCE[name]);
    }
  });
});

Deno.test("lookup reads the same rows from packed rows as from the checkpoint", async () => {
  await inFolder(async (folder) => {
    const [packed, rows] = [join(folder, "packed"), join(folder, "rows.json")];
    await pack(packed);
    Deno.writeTextFileSync(rows, JSON.stringify({ 1: [0, 3697, 5, 5, 6], 14: [6937, 0] }));
    const look = async (name: string, ...more: string[]) => {
      const out = join(folder, name);
      const line = ["lookup", MINI, "--rows", rows, "--device", "cpu", "--out", out];
      assert.equal((await cli(...line, ...more)).code, 0);
      return Deno.readFileSync(out);
    };
    assert.deepEqual(
      await look("a.safetensors", "--offload", packed),
      await look("b.safetensors"),
    );
  });
});

Deno.test("a second run verifies; an interrupted one is refused, then finished by the same command", async () => {
  await inFolder(async (folder) => {
    const states = (result: { layers: { state: string }[] }) => result.layers.map((l) => l.state);
    assert.deepEqual(states(await pack(folder)), ["written", "written"]);
    assert.deepEqual(states(await pack(folder)), ["verified", "verified"]);
    Deno.removeSync(join(folder, MARKER));
    Deno.renameSync(join(folder, FILES[1]), join(folder, `.${FILES[1]}.partial`));
    const refused = await cli("verify", MINI, "--offload", folder);
    assert.equal(refused.code, 3);
    assert.match(refused.err, /was not finished[^]*engram offload/);
    assert.deepEqual(states(await pack(folder)), ["verified", "written"]);
    assert.deepEqual(namesIn(folder), [...FILES, MARKER, MANIFEST]);
  });
});

Deno.test("shortened, changed and foreign packed files are refused or named", async () => {
  await inFolder(async (folder) => {
    const fresh = async () => {
      for (const name of namesIn(folder)) Deno.removeSync(join(folder, name));
      await pack(folder);
    };
    await fresh();
    const path = join(folder, FILES[0]);
    Deno.truncateSync(path, Deno.statSync(path).size - 1);
    await assert.rejects(openOffload(folder), (error: EngramError) => {
      return error.kind === "malformed" && /wanted \d+/.test(error.message);
    });

    await fresh();
    const manifest = join(folder, MANIFEST);
    Deno.writeTextFileSync(manifest, Deno.readTextFileSync(manifest).replace("3698", "3697"));
    await assert.rejects(openOffload(folder), /not the one the folder was finished with/);

    await fresh();
    const bytes = Deno.readFileSync(path);
    bytes[bytes.length - 66 * 10] ^= 1;
    Deno.writeFileSync(path, bytes);
    const verified = await cli("verify", MINI, "--offload", folder);
    assert.equal(verified.code, 5);
    assert.match(verified.err, /engram-layer-00001.*row 3688 of it is not the checkpoint's/);
    const again = await cli("offload", MINI, "--out", folder);
    assert.equal(again.code, 4);
    assert.match(again.err, /--force/);
    await pack(folder, "--force");
    assert.equal((await cli("verify", MINI, "--offload", folder)).code, 0);
  });
});

Deno.test("one rank's rows cannot stand for the whole tables, nor a rank be half named", async () => {
  await inFolder(async (folder) => {
    const packed = join(folder, "packed");
    await pack(packed, "--tp", "4", "--rank", "0");
    const rows = join(folder, "rows.json");
    Deno.writeTextFileSync(rows, `{"1": [0]}`);
    const out = join(folder, "x.safetensors");
    const looked = await cli("lookup", MINI, "--rows", rows, "--offload", packed, "--out", out);
    assert.equal(looked.code, 5);
    assert.match(looked.err, /only rank 0 of tp 4/);
    assert.equal((await cli("offload", MINI, "--out", join(folder, "y"), "--tp", "4")).code, 2);
    assert.equal(
      (await cli("offload", MINI, "--out", join(folder, "y"), "--tp", "4", "--rank", "4")).code,
      2,
    );
  });
});

Deno.test("a folder that cannot be made is named, with the reason", async () => {
  await inFolder(async (folder) => {
    const packed = join(folder, "packed");
    assert.equal((await cli("offload", MINI, "--out", packed)).code, 0);
    const file = join(folder, "file");
    await Deno.writeTextFile(file, "");
    const out = join(file, "out");
    for (const args of [[MINI], [packed, "--unpack"]]) {
      const { code, err } = await cli("offload", ...args, "--out", out);
      assert.equal(code, 4);
      assert.ok(err.includes(`Cannot create \`${out}\`: a part of the path is not a folder`), err);
    }
  });
});
