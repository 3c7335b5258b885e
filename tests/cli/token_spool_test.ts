import assert from "node:assert/strict";
import { join } from "node:path";
import { type SpooledTokens, TokenSpool } from "../../cli/token_spool.ts";

function chunk(ids: number[], requestStart: boolean, dead = ids.map(() => 0)) {
  const tokenIds = Int32Array.from(ids);
  return {
    tokenIds,
    compressedIds: tokenIds,
    dead: Uint8Array.from(dead),
    requestStart,
    request: "test",
  };
}

Deno.test("a spool gives its tokens back in pieces of any size, and leaves nothing on the disk", async () => {
  const folder = await Deno.makeTempDir();
  try {
    using spool = new TokenSpool(join(folder, "out"));
    assert.deepEqual([...Deno.readDirSync(folder)], []);
    const top = 2 ** 31 - 1;
    spool.append(chunk([], true));
    spool.append(chunk([0, top, 5], true, [1, 1, 0]));
    spool.append(chunk([6, 7], false, [0, 1]));
    spool.append(chunk([], true));
    spool.append(chunk([0], true));
    spool.append(chunk([], true));
    assert.equal(spool.tokens, 6);
    assert.equal(spool.dead, 3);
    assert.deepEqual([...spool.starts], [0, 0, 5, 5, 6]);
    for (const most of [1, 2, 4, 6, 100]) {
      const pieces: SpooledTokens[] = [...spool.read(most)];
      assert.deepEqual(pieces.flatMap(({ tokenIds }) => [...tokenIds]), [0, top, 5, 6, 7, 0]);
      assert.deepEqual(pieces.flatMap(({ dead }) => [...dead]), [1, 1, 0, 0, 1, 0]);
      const starts = pieces.flatMap(({ starts }, i) => starts.map((start) => start + i * most));
      // A request that begins at the very end has no token to begin a piece with.
      assert.deepEqual(starts, [0, 0, 5, 5]);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a spool in a folder that is not there is refused", () => {
  assert.throws(() => new TokenSpool("/nowhere/out"), { name: "EngramError", kind: "unavailable" });
});
