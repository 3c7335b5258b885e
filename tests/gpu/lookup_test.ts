import assert from "node:assert/strict";
import { join } from "node:path";
import { inFolder } from "../bytes/in_folder.ts";
import { SIZES, TEXT } from "../cli/eval_models.ts";
import { SyntheticModel } from "../engram/synthetic_model.ts";
import { cli } from "../run_cli.ts";
import { hasGpu } from "./open_gpu.ts";

const ignore = !(await hasGpu());

/** A model, its shards, its packed rows and a text. */
async function withModel(test: (lookup: Lookup, folder: string) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const model = new SyntheticModel(SIZES).write(join(folder, "model"));
    Deno.writeTextFileSync(join(folder, "text.txt"), TEXT);
    Deno.writeTextFileSync(
      join(folder, "rows.json"),
      JSON.stringify({ 5: [3, 0, 3, 201], 2: [7] }),
    );
    const shard = await cli("shard", model, "--tp", "3", "--out", join(folder, "shards"));
    assert.equal(shard.code, 0, shard.err);
    const offload = await cli("offload", model, "--out", join(folder, "packed"));
    assert.equal(offload.code, 0, offload.err);
    await test(async (...flags) => {
      const { code, err, json } = await cli("lookup", model, ...flags, "--json");
      assert.equal(code, 0, `${flags.join(" ")}: ${err}`);
      return { layers: json().layers, err };
    }, folder);
  });
}

type Lookup = (...flags: string[]) => Promise<{ layers: unknown[]; err: string }>;

/** What is said of a table on the GPU's side, by its backend. */
const SAYS = {
  gpu: /, on the GPU \(/,
  memory: /, from host memory, gathered on the host and uploaded$/m,
  mapped: /, from memory map, gathered/,
  file: /, from (packed )?file, gathered/,
};

Deno.test({
  name: "lookup on the GPU gives the same rows from every place and split",
  ignore,
  fn: () =>
    withModel(async (lookup, folder) => {
      const text = ["--text", join(folder, "text.txt")];
      const rows = ["--rows", join(folder, "rows.json")];
      const [shards, packed] = [join(folder, "shards"), join(folder, "packed")];
      for (
        const asked of [
          text,
          rows,
          [...text, "--tp", "2"],
          [...text, "--tp", "3", "--rank", "1"],
          [...rows, "--shards", shards],
          [...text, "--shards", shards, "--rank", "2"],
          [...text, "--offload", packed],
        ]
      ) {
        const wanted = await lookup(...asked, "--device", "cpu");
        assert.match(wanted.err, /^rows: of .*, from (packed )?file$/m);
        for (const [backend, says] of Object.entries(SAYS)) {
          const flags = [...asked, "--backend", backend];
          if (backend !== "gpu") {
            assert.deepEqual((await lookup(...flags, "--device", "cpu")).layers, wanted.layers);
          }
          // Host memory and maps are gathered as a file is.
          if (asked !== text && (backend === "memory" || backend === "mapped")) continue;
          const { layers, err } = await lookup(...flags, "--device", "gpu");
          assert.deepEqual(layers, wanted.layers, flags.join(" "));
          assert.match(err, says);
        }
      }
    }),
});

Deno.test({
  name: "auto: small local tables go to the GPU, but not for rows by number or with a cache",
  ignore,
  fn: () =>
    withModel(async (lookup, folder) => {
      const text = ["--text", join(folder, "text.txt"), "--device", "gpu"];
      const rows = ["--rows", join(folder, "rows.json"), "--device", "gpu"];
      assert.match((await lookup(...text)).err, /rows: of the checkpoint, on the GPU/);
      assert.match((await lookup(...rows)).err, /rows: of the checkpoint, from file/);
      const cached = await lookup(...text, "--cache", "1MB");
      assert.match(cached.err, /from file, .*uploaded: rows are cached on the host/);
    }),
});

Deno.test("places for tables that cannot be had, or mean nothing, are refused", async () => {
  await withModel(async (_, folder) => {
    const model = join(folder, "model");
    const cases: [flags: string[], code: number, says: RegExp][] = [
      [["--backend", "gpu", "--device", "cpu"], 6, /Cannot keep tables on the GPU: .* on CPU/],
      [["--backend", "gpu", "--cache", "1MB"], 2, /--cache with --backend gpu/],
      [["--backend", "file", "--gpu-memory", "1MB"], 2, /--gpu-memory with --backend file/],
      [["--backend", "packed"], 2, /packed/],
      ...(ignore ? [] : [
        [["--backend", "gpu", "--device", "gpu", "--gpu-memory", "10kB"], 4, /leaves \d+/] as const,
      ].map(([flags, code, says]): [string[], number, RegExp] => [[...flags], code, says])),
    ];
    for (const [flags, code, says] of cases) {
      const found = await cli("lookup", model, "--text", join(folder, "text.txt"), ...flags);
      assert.equal(found.code, code, `${flags.join(" ")}: ${found.err}`);
      assert.match(found.err, says);
    }
  });
});
