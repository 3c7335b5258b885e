import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { openFile } from "../../lib/bytes/file_source.ts";
import { openSafetensors } from "../../lib/safetensors/safetensors_file.ts";
import { streamTensor } from "../../lib/safetensors/read_tensor.ts";
import { entry, rawFile } from "../safetensors/raw_file.ts";
import { inFolder } from "./in_folder.ts";

Deno.test("a file is read by position, and only inside its bytes", () =>
  inFolder(async (folder) => {
    const path = `${folder}/f`;
    Deno.writeFileSync(path, Uint8Array.from({ length: 100 }, (_, i) => i));
    const file = openFile(path);
    equal(file.size, 100);
    const into = new Uint8Array(3);
    file.readSync(into, 97);
    deepEqual([...into], [97, 98, 99]);
    await file.read(into.subarray(1), 5);
    deepEqual([...into], [97, 5, 6]);
    file.readSync(new Uint8Array(0), 100);
    for (const offset of [98, 100, -1, 0.5, NaN, Infinity, 2 ** 53]) {
      throws(() => file.readSync(into, offset), {
        kind: "malformed",
        message: /wanted one inside its 100 bytes/,
      });
    }
    await rejects(file.read(into, 98), { kind: "malformed" });
    file.checkUnchanged();
    file.close();
    file.close();
    throws(() => file.readSync(into, 0), { kind: "usage", message: /it is closed/ });
    throws(() => file.checkUnchanged(), { kind: "usage", message: /it is closed/ });
  }));

Deno.test("what cannot be opened is named", () =>
  inFolder((folder) => {
    const failure = (message: RegExp, where: string) => ({ kind: "unavailable", message, where });
    throws(() => openFile(`${folder}/no`), failure(/no such file or folder/, `${folder}/no`));
    throws(() => openFile(folder), failure(/found a folder, wanted a file/, folder));
    throws(() => openFile("/dev/null"), failure(/found a pipe or device/, "/dev/null"));
    Deno.symlinkSync("b", `${folder}/a`);
    Deno.symlinkSync("a", `${folder}/b`);
    throws(() => openFile(`${folder}/a`), failure(/go in a circle/, `${folder}/a`));
    Deno.writeTextFileSync(`${folder}/file`, "");
    throws(() => openFile(`${folder}/file/x`), failure(/not a folder/, `${folder}/file/x`));
  }));

Deno.test("a file that is cut short or written to while open is an error", () =>
  inFolder(async (folder) => {
    const path = `${folder}/f`;
    Deno.writeFileSync(path, rawFile(`{"a":${entry("U8", [64], 0, 64)}}`, 64));
    const file = await openSafetensors(openFile(path));
    const tensor = file.tensor("a");
    const drain = async () => {
      for await (const _ of streamTensor(tensor, { chunkBytes: 16 }));
    };
    await drain();
    Deno.utimeSync(path, new Date(0), new Date(0));
    const changed = { kind: "unavailable", where: path };
    await rejects(drain(), { ...changed, message: /it was written to, wanted the \d+ bytes/ });
    Deno.truncateSync(path, tensor.offset + 40);
    await rejects(drain(), { ...changed, message: /it ended at byte \d+/ });
    throws(() => file.source.checkUnchanged(), { ...changed, message: /it is now \d+ bytes long/ });
    file.close();
  }));

Deno.test("a file that is replaced keeps giving the bytes it was opened on", () =>
  inFolder((folder) => {
    Deno.writeTextFileSync(`${folder}/f`, "old");
    Deno.writeTextFileSync(`${folder}/new`, "new!");
    const file = openFile(`${folder}/f`);
    Deno.renameSync(`${folder}/new`, `${folder}/f`);
    const into = new Uint8Array(3);
    file.readSync(into, 0);
    file.checkUnchanged();
    equal(new TextDecoder().decode(into), "old");
    file.close();
  }));

Deno.test("offsets past 2^32 are exact, in a sparse file of more than 8 GiB", () =>
  inFolder(async (folder) => {
    const path = `${folder}/large.safetensors`;
    const rows = 2 ** 25 + 3;
    const bytes = rows * 264;
    const end = bytes + 5;
    const head = rawFile(
      `{"t":${entry("U8", [rows, 264], 0, bytes)},"z":${entry("U8", [5], bytes, end)}}`,
    );
    using raw = Deno.openSync(path, { write: true, createNew: true });
    raw.writeSync(head);
    raw.truncateSync(head.length + end);
    const marks = [0, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32 + 7, 2 ** 33 + 1, end - 1];
    marks.forEach((mark, i) => {
      raw.seekSync(head.length + mark, Deno.SeekMode.Start);
      raw.writeSync(new Uint8Array([i + 1]));
    });
    const file = await openSafetensors(openFile(path));
    equal(file.source.size > 8 * 2 ** 30, true);
    equal(file.tensor("z").offset, head.length + bytes);
    const into = new Uint8Array(3);
    for (const [i, mark] of marks.entries()) {
      const begin = Math.min(Math.max(mark - 1, 0), end - 3);
      await file.source.read(into, head.length + begin);
      equal(into[mark - begin], i + 1);
      // The two first marks past 2^31 touch each other.
      const near = new Set(marks.map((m) => m - begin));
      deepEqual([...into].map((byte) => byte !== 0), [0, 1, 2].map((at) => near.has(at)));
    }
    const tail = { begin: 2 ** 33, end: 2 ** 33 + 4, chunkBytes: 2 };
    const streamed: number[] = [];
    for await (const chunk of streamTensor(file.tensor("t"), tail)) streamed.push(...chunk);
    deepEqual(streamed, [0, 6, 0, 0]);
    file.close();
  }));
