import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { TensorFile } from "../golden/golden_tensors.ts";
import { oracleHash } from "../hash/bigint_oracle.ts";
import { bf16Number } from "../kernels/bf16_oracle.ts";
import { assertGates } from "../kernels/gate_oracle.ts";
import { cli } from "../run_cli.ts";

const SIZES = {
  layerIds: [4, 1],
  maxNgramSize: 4,
  nHeads: 2,
  headDim: 32,
  vocabSize: 90,
  hidden: 8,
  copies: 2,
  eps: 1e-6,
  paddingRows: 3,
};

async function withVectors(
  kind: "fp8" | "packed" | "int8" | "bf16" | "f16" | "f32",
  test: (vectors: string, model: SyntheticModel, folder: string) => Promise<void> | void,
): Promise<void> {
  await inFolder(async (folder) => {
    const model = new SyntheticModel({ ...SIZES, kind }, 8);
    const place = model.write(join(folder, "model"));
    const vectors = join(folder, "vectors");
    const { code, err } = await cli("vectors", place, "--out", vectors);
    assert.equal(code, 0, err);
    await test(vectors, model, folder);
  });
}

interface Manifest {
  readonly format: string;
  readonly token_map_sha256: string;
  readonly texts: { text: string }[];
  readonly files: { file: string; sha256: string; arrays: Record<string, string> }[];
}

function manifestOf(vectors: string): Manifest {
  return JSON.parse(Deno.readTextFileSync(join(vectors, "manifest.json")));
}

/** The requests of a file: token ids and dead marks of each. */
function requestsOf(file: TensorFile) {
  const tokenIds = file.get("token_ids", "I32").values;
  const dead = file.get("dead", "U8").values;
  const starts = [...file.get("starts", "I64").values].map(Number);
  return starts.slice(0, -1).map((start, i) => ({
    tokenIds: [...tokenIds.slice(start, starts[i + 1])],
    dead: [...dead.slice(start, starts[i + 1])],
  }));
}

Deno.test("every file and array is described, with the file's digest", async () => {
  await withVectors("fp8", (vectors) => {
    const { format, files } = manifestOf(vectors);
    assert.equal(format, "engram-vectors");
    assert.deepEqual(
      files.map(({ file }) => file).sort(),
      namesIn(vectors)
        .filter((name) => name !== "manifest.json"),
    );
    for (const { file, sha256, arrays } of files) {
      const bytes = Deno.readFileSync(join(vectors, file));
      assert.equal(createHash("sha256").update(bytes).digest("hex"), sha256, file);
      if (!file.endsWith(".safetensors")) continue;
      assert.deepEqual(
        Object.keys(arrays).sort(),
        [...new TensorFile(join(vectors, file)).names]
          .sort(),
      );
    }
  });
});

Deno.test("row numbers are the definition's, with and without dead tokens, in one or many requests", async () => {
  await withVectors("fp8", (vectors, model) => {
    const { texts } = manifestOf(vectors);
    for (const name of ["hash", "hash_dead", "hash_chunked"]) {
      const file = new TensorFile(join(vectors, `${name}.safetensors`));
      const requests = requestsOf(file);
      assert.equal(requests.length, name === "hash_chunked" ? 1 : texts.length);
      const wanted = requests.flatMap(({ tokenIds, dead }) => model.ids(tokenIds, dead)).flat();
      assert.deepEqual([...file.get("hash_ids", "I32").values], wanted, name);
      const marked = requests.some(({ dead }) => dead.includes(1));
      assert.equal(marked, name !== "hash");
    }
    const map = new TensorFile(join(vectors, "token_map.safetensors")).get("token_map", "I32");
    assert.deepEqual([...map.values], model.map);
  });
});

Deno.test("chunks with windows hash as the definition says", async () => {
  await withVectors("fp8", (vectors, model) => {
    const file = new TensorFile(join(vectors, "windows.safetensors"));
    const ids = file.get("compressed_ids", "I32").values;
    const positions = file.get("positions", "I64").values;
    const bounds = file.get("query_start_loc", "I32").values;
    const dead = file.get("dead_mask", "U8").values;
    const window = file.get("lookback_token_ids", "I32").values;
    const windowDead = file.get("lookback_dead_mask", "U8").values;
    assert.ok([...window].includes(-1) && [...windowDead].includes(1));
    const wanted: number[] = [];
    for (let request = 0; request + 1 < bounds.length; request++) {
      for (let t = bounds[request]; t < bounds[request + 1]; t++) {
        wanted.push(...oracleHash(model.layout, model.map[model.padTokenId], {
          position: Number(positions[t]),
          source(back) {
            const at = t - back;
            if (at >= bounds[request]) return dead[at] ? "dead" : ids[at];
            const place = 3 * request + bounds[request] - at - 1;
            if (windowDead[place]) return "dead";
            return window[place] < 0 ? "unknown" : window[place];
          },
        }));
      }
    }
    assert.deepEqual([...file.get("hash_ids", "I32").values], wanted);
  });
});

for (const kind of ["fp8", "packed", "int8", "bf16", "f16", "f32"] as const) {
  Deno.test(`rows and gates of ${kind} tables are the oracles'`, async () => {
    await withVectors(kind, (vectors, model) => {
      const rowFile = new TensorFile(join(vectors, "rows.safetensors"));
      const gates = new TensorFile(join(vectors, "gates.safetensors"));
      const idsOf = (file: TensorFile) =>
        requestsOf(file).flatMap(({ tokenIds, dead }) => model.ids(tokenIds, dead));
      SIZES.layerIds.forEach((id, l) => {
        const rows = rowFile.get(`layers.${id}.rows`, "BF16");
        assert.deepEqual(rows.values, model.rows(l, model.layerIds(l, idsOf(rowFile))));
        const tokens = gates.get("token_ids", "I32").values.length;
        const own = model.rows(l, model.layerIds(l, idsOf(gates)));
        const kv = gates.get(`layers.${id}.kv`, "BF16").values;
        const projected = model.project(l, own, tokens);
        kv.forEach((bits, i) => {
          const [wanted, size] = [projected.sums[i], projected.sizes[i]];
          const allowed = 2 ** -8 * Math.abs(wanted) + 1e-5 * size;
          assert.ok(Math.abs(bf16Number(bits) - wanted) <= allowed, `${i}: ${wanted}`);
        });
        const mask = gates.get("dead", "U8").values.map((dead) => 1 - dead);
        const gate = gates.get(`layers.${id}.gate`, "F32").values;
        const stream = gates.get(`layers.${id}.hidden`, "BF16").values;
        const wanted = model.gate(l, { tokens, stream, kv, mask });
        assertGates(gate, wanted.gate);
        assert.ok(gate.some((value, i) => value === 0 && mask[Math.floor(i / 2)] === 0));
      });
    });
  });
}

Deno.test("a config alone gives maps and row numbers; vectors that are there are not replaced", async () => {
  await withVectors("fp8", async (vectors, _, folder) => {
    const out = join(folder, "few");
    const config = join(folder, "model", "config.json");
    const tokenizer = goldenPath("tokenizers/small_bytelevel.json");
    const made = await cli("vectors", config, "--tokenizer", tokenizer, "--out", out);
    assert.equal(made.code, 0, made.err);
    assert.ok(!namesIn(out).includes("rows.safetensors"));
    assert.deepEqual(
      Deno.readFileSync(join(out, "hash_dead.safetensors")),
      Deno.readFileSync(join(vectors, "hash_dead.safetensors")),
    );
    const again = await cli("vectors", config, "--tokenizer", tokenizer, "--out", out);
    assert.equal(again.code, 4);
    assert.match(again.err, /exists already[^]*--force/);
    const onto = [
      "vectors",
      config,
      "--tokenizer",
      tokenizer,
      "--out",
      join(config, ".."),
      "--force",
    ];
    const before = Deno.readFileSync(config);
    const refused = await cli(...onto);
    assert.equal(refused.code, 2, refused.err);
    assert.match(refused.err, /it is the checkpoint's folder/);
    assert.deepEqual(Deno.readFileSync(config), before);
  });
});

Deno.test("diff takes vectors and dumps as folders, and finds causes by what vectors carry", async () => {
  await withVectors("fp8", async (vectors, model, folder) => {
    const same = await cli("diff", vectors, vectors);
    assert.equal(same.code, 0, same.err);
    const dump = join(folder, "dump");
    Deno.mkdirSync(dump);
    // The row numbers of an engine that ignores dead tokens, as lists in JSON lines.
    const file = new TensorFile(join(vectors, "hash_dead.safetensors"));
    const lines = requestsOf(file).flatMap(({ tokenIds, dead }) =>
      model.ids(tokenIds, dead.map(() => 0))
    ).map((ids) => JSON.stringify([ids.slice(0, 6), ids.slice(6)]));
    Deno.writeTextFileSync(join(dump, "hash_dead.jsonl"), lines.join("\n"));
    const found = await cli("diff", vectors, dump, "--json");
    assert.equal(found.code, 5, found.err);
    const { files, missing_files } = found.json();
    assert.equal(files.length, 1);
    assert.deepEqual(files[0].causes.map(({ id }: { id: string }) => id), ["dead-ignored"]);
    assert.ok(missing_files.includes("gates.safetensors"));
    const text = await cli("diff", vectors, dump);
    assert.match(text.out, /likely cause: dead tokens are hashed like any other/);
    assert.match(text.out, /the dump differs/);
  });
});
