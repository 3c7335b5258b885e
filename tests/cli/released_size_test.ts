/** The released checkpoint's size, sparse: what must not depend on a table's size does not. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { start } from "../faults/running.ts";
import { goldenJson } from "../golden/golden_data.ts";
import { TensorFile } from "../golden/golden_tensors.ts";
import { writeReleasedLayout } from "../remote/released_layout.ts";

/** Deno alone takes some 100 MB. */
const MOST_BYTES = 300e6;

const FILE = "model-00048-of-00048.safetensors";

/** Runs a command line and gives its result as JSON, and the most memory it had (0 off Linux). */
async function measured(...args: string[]) {
  const child = start([...args, "--json"]);
  let peak = 0;
  const watch = setInterval(() => {
    try {
      const status = Deno.readTextFileSync(`/proc/${child.pid}/status`);
      const [, kibibytes] = status.match(/^VmHWM:\s*(\d+) kB$/m) ?? [];
      if (kibibytes) peak = Math.max(peak, Number(kibibytes) * 1024);
    } catch {
      // It has ended, or there is no /proc.
    }
  }, 2);
  const { code, stdout, stderr } = await child.output();
  clearInterval(watch);
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return { value: JSON.parse(new TextDecoder().decode(stdout)), peak };
}

/** Writes row `row` of layer 14's table: all ones. */
function writeOnes(folder: string, row: number): void {
  using file = Deno.openSync(join(folder, FILE), { read: true, write: true });
  const length = new Uint8Array(8);
  file.readSync(length);
  const header = new Uint8Array(Number(new DataView(length.buffer).getBigUint64(0, true)));
  file.readSync(header);
  const tensors = JSON.parse(new TextDecoder().decode(header));
  const write = (part: string, width: number, value: number) => {
    const [begin] = tensors[`layers.14.engram.embed.${part}`].data_offsets;
    file.seekSync(8 + header.length + begin + row * width, Deno.SeekMode.Start);
    file.writeSync(new Uint8Array(width).fill(value));
  };
  // 1.0 as e4m3, and 2^0 as ue8m0.
  write("weight", 256, 0x38);
  write("scale", 8, 127);
}

Deno.test("inspect, layout, lookup of three rows and a rank's plan of 203 GB of tables take little memory", async () => {
  await inFolder(async (folder) => {
    const model = join(folder, "model");
    Deno.mkdirSync(model);
    writeReleasedLayout(model);
    const last = 384_016_681;
    writeOnes(model, last);
    const primes: number[][] = goldenJson<{ primes: number[][][] }>("released.json").primes
      .map((layer) => layer.flat());

    const inspected = await measured("inspect", model);
    const layout = await measured("layout", model, "--tp", "4");
    assert.equal(layout.value.layers[1].rows, last + 1);

    const rows = join(folder, "rows.json");
    Deno.writeTextFileSync(rows, JSON.stringify({ 14: [last, 0, 2 ** 24] }));
    const out = join(folder, "out.safetensors");
    const looked = await measured(
      ...["lookup", model, "--rows", rows, "--device", "cpu", "--out", out],
    );
    const { shape, values } = new TensorFile(out).get("layers.14.rows", "BF16");
    assert.deepEqual(shape, [3, 256]);
    // 1.0 is 0x3f80; what was never written is zero.
    assert.deepEqual(values, Uint16Array.from({ length: 768 }, (_, i) => i < 256 ? 0x3f80 : 0));

    const shards = join(folder, "shards");
    const planned = await measured(
      ...["shard", model, "--tp", "4", "--rank", "3", "--out", shards, "--dry-run"],
    );
    const [shard] = planned.value.shards;
    const held = primes.map((layer) => layer.slice(18).reduce((a, b) => a + b, 0));
    assert.deepEqual(shard.layers.map((layer: { rows: number }) => layer.rows), held);
    assert.ok(shard.bytes > 264 * (held[0] + held[1]), `${shard.bytes}`);
    assert.throws(() => Deno.statSync(shards), Deno.errors.NotFound);

    for (const [what, { peak }] of Object.entries({ inspected, layout, looked, planned })) {
      assert.ok(peak < MOST_BYTES, `${what}: ${peak} bytes`);
      console.log(`${what}: peak memory ${(peak / 1e6).toFixed(0)} MB`);
    }
  });
});
