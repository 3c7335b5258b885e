import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { TRAFFIC } from "../../lib/bytes/traffic.ts";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import type { Tensor } from "../../lib/safetensors/tensor.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { startHub, TOKEN, withEnvironment } from "./hub_server.ts";
import { type Server, testWithNginx } from "./nginx.ts";

const MINI = goldenPath("mini");
const FILES = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
const REPOSITORY = ["config.json", ...FILES, "model.safetensors.index.json"];

/** A hub, and an empty home for its settings. */
async function withHub(
  test: (hub: Server, home: string, environment: Record<string, string>) => Promise<void>,
): Promise<void> {
  await inFolder(async (home) => {
    const hub = await startHub(MINI, REPOSITORY);
    try {
      await test(hub, home, { HF_ENDPOINT: hub.url, HF_HOME: home });
    } finally {
      await hub.stop();
    }
  });
}

async function opensWhole(location: string): Promise<void> {
  const checkpoint = await openCheckpoint(location);
  deepEqual(checkpoint.layers.map(({ layerId }) => layerId), [1, 14]);
  deepEqual([...checkpoint.files.keys()], FILES);
  deepEqual(checkpoint.warnings, []);
  const local = await openCheckpoint(MINI);
  const rows = await Promise.all([checkpoint, local].map(async ({ tensors }) => {
    const { source, offset } = tensors.get("layers.14.engram.embed.weight") as Tensor;
    const row = new Uint8Array(64);
    await source.read(row, offset + 6937 * 64);
    return row;
  }));
  deepEqual(rows[0], rows[1]);
  local.close();
  checkpoint.close();
}

/** An error that holds no secret. */
const refusal = (message: RegExp, hint: RegExp) => (error: unknown) => {
  if (!(error instanceof EngramError)) throw error;
  match(error.message, message);
  match(String(error.hint), hint);
  ok(!/secret/i.test(`${error.message}${error.hint}${error.where}${error.stack}`));
  return true;
};

testWithNginx(
  "hf:// opens a private repository; the token goes to the hub and nowhere else",
  () =>
    withHub((hub, _home, environment) =>
      withEnvironment({ ...environment, HF_TOKEN: ` ${TOKEN}\n` }, async () => {
        await opensWhole("hf://org/model");
        const log = await hub.log(10);
        const hosts = new Set(
          log.map(({ host, authorization }) => `${host.split(":")[0]} ${authorization}`),
        );
        deepEqual(hosts, new Set([`127.0.0.1 Bearer ${TOKEN}`, "localhost -"]));
        const pages = log.filter(({ path }) => path.startsWith("/api/"));
        deepEqual(pages.map(({ status }) => status), [200, 200]);
      })
    ),
);

testWithNginx(
  "a token that the hub's own tools stored serves as well",
  () =>
    withHub(async (_hub, home, environment) => {
      Deno.writeTextFileSync(`${home}/token`, `${TOKEN}\n`);
      await withEnvironment(environment, () => opensWhole("hf://org/model"));
      Deno.renameSync(`${home}/token`, `${home}/elsewhere`);
      const moved = { ...environment, HF_TOKEN_PATH: `${home}/elsewhere` };
      await withEnvironment(moved, () => opensWhole("hf://org/model"));
    }),
);

testWithNginx(
  "a revision is asked for by its name, and cannot be listed where the hub does not",
  () =>
    withHub((hub, _home, environment) =>
      withEnvironment({ ...environment, HF_TOKEN: TOKEN }, async () => {
        await opensWhole("hf://org/model@v1.0");
        await opensWhole("hf://org/model@refs/pr/1");
        const paths = (await hub.log(20)).map(({ path }) => path);
        ok(paths.includes("/org/model/resolve/v1.0/config.json"));
        ok(paths.includes("/org/model/resolve/refs/pr/1/config.json"));
        await rejects(
          openCheckpoint("hf://org/model@v2"),
          /found neither a \.safetensors file nor/,
        );
      })
    ),
);

testWithNginx(
  "the hub's addresses as a browser shows them open too",
  () =>
    withHub((hub, _home, environment) =>
      withEnvironment({ ...environment, HF_TOKEN: TOKEN }, async () => {
        await opensWhole(`${hub.url}/org/model`);
        await opensWhole(`${hub.url}/org/model/tree/main`);
        await opensWhole(`${hub.url}/org/model/resolve/main`);
      })
    ),
);

testWithNginx(
  "a plain mirror of the files serves without a list and without a token",
  () =>
    withHub((_hub, _home, environment) =>
      withEnvironment(environment, () => opensWhole("hf://mirror/model"))
    ),
);

testWithNginx(
  "no token, a wrong one and a gated model are each refused with what to do",
  () =>
    withHub(async (_hub, _home, environment) => {
      await withEnvironment(environment, async () => {
        const open = openCheckpoint("hf://org/model");
        await rejects(
          open,
          refusal(/wants a login \(401\)/, /private or gated: run `hf auth login`/),
        );
        await rejects(
          openCheckpoint("hf://gated/model"),
          refusal(/access is forbidden \(403\)/, /set HF_TOKEN/),
        );
      });
      await withEnvironment({ ...environment, HF_TOKEN: "hf_wrongSecret" }, async () => {
        const open = openCheckpoint("hf://org/model");
        await rejects(open, refusal(/wants a login \(401\)/, /The token was refused/));
        for (const flags of [[], ["--json"]]) {
          const { code, out, err } = await cli("inspect", "hf://org/model", ...flags);
          equal(code, 4);
          ok(!/secret/i.test(out + err));
        }
      });
      await withEnvironment({ ...environment, HF_TOKEN: "hf_broken secret" }, async () => {
        const open = openCheckpoint("hf://org/model");
        await rejects(open, refusal(/characters that no token has/, /HF_TOKEN/));
      });
    }),
);

/** A download as the hub's Python library leaves it: links into a folder of blobs. */
function makeCache(folder: string, files: readonly string[]): string {
  const repository = `${folder}/models--org--model`;
  const snapshot = `${repository}/snapshots/0123456789abcdef`;
  Deno.mkdirSync(snapshot, { recursive: true });
  Deno.mkdirSync(`${repository}/blobs`);
  Deno.mkdirSync(`${repository}/refs`);
  Deno.writeTextFileSync(`${repository}/refs/main`, "0123456789abcdef");
  files.forEach((name, i) => {
    Deno.copyFileSync(`${MINI}/${name}`, `${repository}/blobs/${i}`);
    Deno.symlinkSync(`../../blobs/${i}`, `${snapshot}/${name}`);
  });
  return repository;
}

Deno.test("a model that the hub's Python library has downloaded opens without a request", () =>
  inFolder(async (home) => {
    const repository = makeCache(`${home}/hub`, REPOSITORY);
    const before = TRAFFIC.requests;
    const dead = { HF_ENDPOINT: "http://127.0.0.1:9" };
    await withEnvironment({ ...dead, HF_HOME: home }, async () => {
      await opensWhole("hf://org/model");
      await opensWhole("hf://org/model@main");
      await opensWhole("hf://org/model@0123456789abcdef");
      await opensWhole(repository);
      await opensWhole(`${repository}/snapshots/0123456789abcdef`);
    });
    await withEnvironment(
      { ...dead, HF_HUB_CACHE: `${home}/hub` },
      () => opensWhole("hf://org/model"),
    );
    await withEnvironment({ ...dead, HF_HOME: home, HF_HUB_OFFLINE: "1" }, async () => {
      await opensWhole("hf://org/model");
      await rejects(
        openCheckpoint("hf://org/model@other"),
        refusal(/found nothing of it in .*HF_HUB_OFFLINE forbids/, /Unset HF_HUB_OFFLINE/),
      );
    });
    equal(TRAFFIC.requests, before);
  }));

testWithNginx(
  "a model that was downloaded in part is read from the hub",
  () =>
    withHub(async (_hub, home, environment) => {
      makeCache(`${home}/hub`, REPOSITORY.slice(0, 2));
      await withEnvironment({ ...environment, HF_TOKEN: TOKEN }, async () => {
        const before = TRAFFIC.requests;
        await opensWhole("hf://org/model");
        ok(TRAFFIC.requests > before);
      });
      await withEnvironment({ ...environment, HF_HUB_OFFLINE: "1" }, async () => {
        await rejects(
          openCheckpoint("hf://org/model"),
          refusal(/found only a part of it/, /Unset/),
        );
      });
    }),
);
