import assert from "node:assert/strict";
import { join } from "node:path";
import { EngramError } from "../../lib/errors.ts";
import { mapFile } from "../../lib/bytes/mapped_source.ts";
import { inFolder } from "./in_folder.ts";

Deno.test("a map gives a file's bytes at any position, past 2^32 and across its windows too", async () => {
  await inFolder((folder) => {
    const path = join(folder, "sparse");
    const marks = [0, 2 ** 30 - 3, 2 ** 32 - 2, 5 * 2 ** 30 + 1];
    const size = 6 * 2 ** 30;
    const file = Deno.openSync(path, { create: true, write: true });
    file.truncateSync(size);
    marks.forEach((at, i) => {
      file.seekSync(at, Deno.SeekMode.Start);
      file.writeSync(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8 + i));
    });
    file.close();
    const map = mapFile(path);
    try {
      assert.equal(map.size, size);
      const bytes = new Uint8Array(8);
      marks.forEach((at, i) => {
        map.readSync(bytes, at);
        assert.deepEqual(bytes, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8 + i));
      });
      map.readSync(bytes, size - 8);
      assert.deepEqual(bytes, new Uint8Array(8));
      for (const at of [size - 7, -1, 0.5, NaN]) {
        assert.throws(() => map.readSync(bytes, at), EngramError);
      }
      map.checkUnchanged();
      Deno.truncateSync(path, size - 1);
      assert.throws(() => map.checkUnchanged(), /it was changed/);
    } finally {
      map.close();
    }
    assert.throws(() => map.readSync(new Uint8Array(1), 0), /it is closed/);
  });
});

Deno.test("an empty file maps to nothing; a folder and a missing file do not map", async () => {
  await inFolder((folder) => {
    const path = join(folder, "empty");
    Deno.writeFileSync(path, new Uint8Array());
    const map = mapFile(path);
    assert.equal(map.size, 0);
    assert.throws(() => map.readSync(new Uint8Array(1), 0), EngramError);
    map.close();
    map.close();
    assert.throws(() => mapFile(folder), EngramError);
    assert.throws(() => mapFile(join(folder, "none")), EngramError);
  });
});
