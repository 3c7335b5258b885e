import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { TRAFFIC } from "../../lib/bytes/traffic.ts";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { fileStore } from "../../lib/table/file_store.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";
import { startNginx, testWithNginx } from "./nginx.ts";
import { writeReleasedLayout } from "./released_layout.ts";

const MINI = goldenPath("mini");

/** A copy of the small checkpoint and nothing else: what lies beside it cannot be seen from afar. */
function copyMini(folder: string): void {
  for (const { name } of Deno.readDirSync(MINI)) {
    if (name !== "expected.safetensors") Deno.copyFileSync(`${MINI}/${name}`, `${folder}/${name}`);
  }
}

async function serving(root: string, test: (url: string) => Promise<void>): Promise<void> {
  const server = await startNginx(root);
  try {
    await test(server.url);
  } finally {
    await server.stop();
  }
}

testWithNginx(
  "commands say the same of a folder behind a URL as of one on disk",
  () =>
    inFolder(async (folder) => {
      copyMini(folder);
      await serving(folder, async (url) => {
        const lines = [["inspect"], ["inspect", "--all"], ["layout", "--tp", "4"], ["verify"]];
        for (const [command, ...flags] of lines) {
          const local = await cli(command, folder, ...flags, "--json");
          const remote = await cli(command, url, ...flags, "--json");
          equal(remote.code, 0, remote.err);
          deepEqual(JSON.parse(remote.out.replaceAll(url, folder)), local.json());
          match(remote.err, /^fetched [\d.]+ [KM]iB in \d+ requests\n$/);
          equal((await cli(command, url, ...flags, "--json", "--quiet")).err, "");
        }
        for (const file of ["config.json", "model.safetensors.index.json"]) {
          equal((await cli("layout", `${url}/${file}`, "--json")).code, 0);
        }
        const file = `${url}/model-00001-of-00002.safetensors`;
        const { tensors } = (await cli("inspect", file, "--all", "--json")).json();
        equal(tensors.length, 7);
      });
    }),
);

testWithNginx("what is not there is named by its URL", () =>
  serving(MINI, async (url) => {
    const folder = await cli("inspect", `${url}/no`);
    equal(folder.code, 4);
    match(folder.err, /\/no`: found neither a \.safetensors file nor a config\.json/);
    const file = await cli("inspect", `${url}/no.safetensors`, "--json");
    equal(file.code, 4);
    const { error } = JSON.parse(file.err);
    deepEqual([error.code, error.where], [4, `${url}/no.safetensors`]);
  }));

testWithNginx(
  "rows come over the network equal to those on disk, and little else comes",
  () =>
    serving(MINI, async (url) => {
      const ids = Int32Array.from({ length: 300 }, (_, i) => (i * 2654435761 >>> 7) % 3698);
      ids.set([5, 5, 6, 3697, 0], 7);
      const [local, remote] = [await openCheckpoint(MINI), await openCheckpoint(url)];
      const before = { ...TRAFFIC };
      const outs: Uint8Array[] = [];
      for (const checkpoint of [local, remote]) {
        const store = fileStore(checkpoint.layer(1));
        const out = new Uint8Array(ids.length * store.encoding.recordBytes);
        await store.readRecords(ids, out);
        store.close();
        checkpoint.close();
        outs.push(out);
      }
      deepEqual(outs[0], outs[1]);
      const rows = new Set(ids).size;
      // 512 bytes lie between joined pieces at most, fewer than a request costs.
      ok(
        TRAFFIC.bytes - before.bytes <=
          rows * 66 + (TRAFFIC.requests - before.requests + rows) * 512,
      );
      ok(TRAFFIC.requests - before.requests < rows);
    }),
);

testWithNginx("the tokenizer beside a remote checkpoint serves", () =>
  inFolder(async (folder) => {
    copyMini(folder);
    Deno.symlinkSync(await realTokenizer("deepseek_v3"), `${folder}/tokenizer.json`);
    await serving(folder, async (url) => {
      const text = goldenPath("README.md");
      const local = await cli("hash", folder, "--text", text, "--out", `${folder}/a.safetensors`);
      const remote = await cli("hash", url, "--text", text, "--out", `${folder}/b.safetensors`);
      equal(local.code + remote.code, 0, remote.err);
      const [a, b] = ["a", "b"].map((name) => Deno.readFileSync(`${folder}/${name}.safetensors`));
      deepEqual(a, b);
      const map = await cli("map", url, "--json");
      equal(map.json().compressed_vocab_size, 98627);
    });
  }));

testWithNginx(
  "auditing the released layout of 510 GB fetches a few hundred kilobytes",
  () =>
    inFolder(async (folder) => {
      const least = writeReleasedLayout(folder);
      // The released files' sizes; their headers have 664 and 672 bytes, 8 more than these.
      const size = (n: number) =>
        Deno.statSync(`${folder}/model-000${n}-of-00048.safetensors`).size;
      deepEqual([size(47), size(48)], [101_535_150_936 - 8, 101_537_926_640 - 8]);
      await serving(folder, async (url) => {
        const before = { ...TRAFFIC };
        const audit = await cli("verify", url, "--json");
        equal(audit.code, 0, audit.err);
        const bytes = TRAFFIC.bytes - before.bytes;
        // At most one first read's length more for each file.
        ok(bytes >= least && bytes <= least + 52 * 4096, `${bytes} for ${least}`);
        ok(bytes < 600_000, `${bytes} bytes`);
        const opening = TRAFFIC.bytes;
        const checkpoint = await openCheckpoint(url);
        // The index, the config and the headers of the two files it points to.
        deepEqual(
          [...checkpoint.files.keys()],
          [47, 48].map((n) => `model-000${n}-of-00048.safetensors`),
        );
        deepEqual(checkpoint.warnings, []);
        ok(TRAFFIC.bytes - opening < 150_000, `${TRAFFIC.bytes - opening} bytes`);
        const opened = TRAFFIC.bytes;
        const store = fileStore(checkpoint.layer(14));
        const record = new Uint8Array(264 * 2);
        await store.readRecords(Int32Array.of(384016681, 0), record);
        equal(TRAFFIC.bytes - opened, 264 * 2);
        await rejects(store.readRecords(Int32Array.of(384016682), record.subarray(264)));
        store.close();
        checkpoint.close();
      });
    }),
);
