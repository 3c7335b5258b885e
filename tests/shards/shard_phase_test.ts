import assert from "node:assert/strict";
import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { readManifest } from "../../lib/shards/shard_manifest.ts";
import { planShards } from "../../lib/shards/shard_plan.ts";
import { inFolder } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { writeReleasedLayout } from "../remote/released_layout.ts";

Deno.test("a large table begins at the same place of 64 KiB as in its source", () =>
  inFolder(async (folder) => {
    writeReleasedLayout(folder);
    const checkpoint = await openCheckpoint(folder);
    try {
      const layout = buildLayout(checkpoint.config, 99092);
      for (const split of ["heads", "strided", "rows"] as const) {
        for (const plan of planShards(checkpoint, layout, { tp: 5, split }, [])) {
          const name = "layers.1.engram.embed.weight";
          const other = "layers.14.engram.embed.weight";
          // Of the two tables the larger is in step: which that is depends on the rank's primes.
          const inStep = [name, other].filter((name) => {
            const { pieces: [{ tensor, begin }] } = plan.tensors.find((t) => t.name === name)!;
            const { offset } = plan.file.spans.get(name)!;
            return offset % 65_536 === (tensor.offset + begin) % 65_536;
          });
          assert.ok(inStep.length >= 1, `rank ${plan.rank} by ${split}`);
          assert.ok(plan.file.header.length < 65_536 + 4096);
          const manifest = readManifest(new Map(Object.entries(plan.metadata)));
          assert.equal(manifest?.rank, plan.rank);
        }
      }
    } finally {
      checkpoint.close();
    }
  }));

Deno.test("a small checkpoint's shards have no header of spaces", async () => {
  const checkpoint = await openCheckpoint(goldenPath("mini"));
  try {
    const layout = buildLayout(checkpoint.config, 98627);
    for (const plan of planShards(checkpoint, layout, { tp: 4 }, [])) {
      assert.ok(plan.file.header.length < 4096, `${plan.file.header.length}`);
    }
  } finally {
    checkpoint.close();
  }
});
