import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { bf16Number } from "../kernels/bf16_oracle.ts";
import { cli } from "../run_cli.ts";

const MODEL = new SyntheticModel({
  layerIds: [4, 1],
  maxNgramSize: 3,
  nHeads: 2,
  headDim: 32,
  vocabSize: 60,
  hidden: 8,
  copies: 2,
  eps: 1e-6,
});

/** Runs a Python program; null where there is no Python, or it lacks what the program imports. */
async function python(program: string, ...args: string[]): Promise<unknown> {
  try {
    const command = new Deno.Command("python3", { args: ["-c", program, ...args] });
    const { success, stdout, stderr } = await command.output();
    const error = new TextDecoder().decode(stderr);
    if (!success && /ModuleNotFoundError|not found/.test(error)) return null;
    assert.ok(success, error);
    return JSON.parse(new TextDecoder().decode(stdout));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

const TOKENS = [5, 900, 17, 17, 1999, 0, 321];

/** What a command writes of the tokens, read by a Python program. */
async function written(command: string, name: string, program: string, flags: string[] = []) {
  let result: unknown;
  await inFolder(async (folder) => {
    const place = MODEL.write(join(folder, "model"));
    const [ids, out] = [join(folder, "ids.json"), join(folder, name)];
    Deno.writeTextFileSync(ids, JSON.stringify(TOKENS));
    const made = await cli(command, place, "--ids", ids, "--out", out, ...flags);
    assert.equal(made.code, 0, made.err);
    result = await python(program, out);
  });
  return result;
}

const IDS = MODEL.ids(TOKENS, TOKENS.map(() => 0));
const rowsOf = (l: number) => [...MODEL.rows(l, MODEL.layerIds(l, IDS))].map(bf16Number);

Deno.test("hash ids as .npy are read by NumPy", async () => {
  const found = await written(
    "hash",
    "x.npy",
    `import sys, json, numpy
a = numpy.load(sys.argv[1])
print(json.dumps([str(a.dtype), list(a.shape), a.ravel().tolist()]))`,
  );
  if (found === null) return;
  assert.deepEqual(found, ["int32", [7, 2, 4], IDS.flat()]);
});

Deno.test("rows as .npy are read by NumPy", async () => {
  const found = await written(
    "lookup",
    "x.npy",
    `import sys, json, numpy
a = numpy.load(sys.argv[1])
print(json.dumps([str(a.dtype), list(a.shape), a[:, 0].ravel().tolist()]))`,
    ["--device", "cpu"],
  );
  if (found === null) return;
  assert.deepEqual(found, ["float32", [7, 2, 4, 32], rowsOf(0)]);
});

Deno.test("hash ids as JSON lines and as safetensors are read by Python's own modules", async () => {
  const lines = await written(
    "hash",
    "x.jsonl",
    `import sys, json
print(json.dumps([json.loads(line)["hash_ids"] for line in open(sys.argv[1])]))`,
  );
  if (lines === null) return;
  assert.deepEqual((lines as number[][][]).flat(2), IDS.flat());
  const tensors = await written(
    "hash",
    "x.safetensors",
    `import sys, json, struct
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
at = json.loads(data[8:8 + n])["hash_ids"]
begin, end = at["data_offsets"]
values = struct.unpack("<%di" % ((end - begin) // 4), data[8 + n + begin:8 + n + end])
print(json.dumps([at["dtype"], at["shape"], values]))`,
  );
  assert.deepEqual(tensors, ["I32", [7, 2, 4], IDS.flat()]);
});

Deno.test("rows as safetensors are read by the Python safetensors library", async () => {
  const found = await written(
    "lookup",
    "x.safetensors",
    `import sys, json
from safetensors import safe_open
import torch
with safe_open(sys.argv[1], "pt") as f:
    a = f.get_tensor("layers.1.rows")
    print(json.dumps([str(a.dtype), list(a.shape), a.float().ravel().tolist()]))`,
    ["--device", "cpu"],
  );
  if (found === null) return;
  assert.deepEqual(found, ["torch.bfloat16", [7, 4, 32], rowsOf(1)]);
});

Deno.test("ids that NumPy wrote, of any integer type and byte order, are read", async () => {
  await inFolder(async (folder) => {
    const place = MODEL.write(join(folder, "model"));
    const types = ["<i8", ">i8", "<i4", ">i4", "<u2", ">u2", "<u8", ">u4"];
    const made = await python(
      `import sys, json, numpy
for i, t in enumerate(json.loads(sys.argv[2])):
    numpy.save("%s/%d.npy" % (sys.argv[1], i), numpy.array(json.loads(sys.argv[3]), dtype=t))
print("true")`,
      folder,
      JSON.stringify(types),
      JSON.stringify(TOKENS),
    );
    if (made === null) return;
    const digests = new Set<string>();
    for (const [i, type] of types.entries()) {
      const { code, err, json } = await cli(
        "hash",
        place,
        "--ids",
        join(folder, `${i}.npy`),
        "--json",
      );
      assert.equal(code, 0, `${type}: ${err}`);
      assert.equal(json().tokens, TOKENS.length);
      digests.add(json().hash_ids_sha256);
    }
    assert.equal(digests.size, 1);
  });
});
