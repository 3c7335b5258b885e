import assert from "node:assert/strict";
import { join } from "node:path";
import { textFiles } from "../../cli/text_files.ts";

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a folder's files come by path in code-unit order, hidden ones and links to folders left out", () =>
  inFolder(async (folder) => {
    const names = ["b.txt", "Z.txt", "a/2.txt", "a/10.txt", "é.txt", ".git/x", "a/.x", "c/d/e.txt"];
    for (const name of names) {
      await Deno.mkdir(join(folder, name, ".."), { recursive: true });
      await Deno.writeTextFile(join(folder, name), name);
    }
    await Deno.symlink(join(folder, "b.txt"), join(folder, "y-link.txt"));
    await Deno.symlink(folder, join(folder, "loop"));
    const files = await textFiles([folder]);
    assert.deepEqual(
      files.map((file) => file.name.slice(folder.length + 1)),
      ["Z.txt", "a/10.txt", "a/2.txt", "b.txt", "c/d/e.txt", "y-link.txt", "é.txt"],
    );
    assert.deepEqual(files.map((file) => file.size), [5, 8, 7, 5, 9, 5, 6]);
    // Given again, and beside a file of it: in the order asked for.
    const twice = await textFiles([join(folder, "b.txt"), join(folder, "a")]);
    assert.deepEqual(
      twice.map((file) => file.name.slice(folder.length + 1)),
      ["b.txt", "a/10.txt", "a/2.txt"],
    );
  }));

Deno.test("a file longer than a read comes whole", () =>
  inFolder(async (folder) => {
    const path = join(folder, "long");
    const bytes = Uint8Array.from({ length: 2_500_000 }, (_, i) => i % 251);
    await Deno.writeFile(path, bytes);
    const [file] = await textFiles([path]);
    let at = 0;
    for await (const chunk of file.open()) {
      assert.deepEqual(chunk, bytes.subarray(at, at + chunk.length));
      at += chunk.length;
    }
    assert.equal(at, bytes.length);
  }));

Deno.test("what is not there, or may not be read, is named", () =>
  inFolder(async (folder) => {
    const gone = join(folder, "gone.txt");
    await assert.rejects(textFiles([gone]), { kind: "unavailable", where: gone });
    await Deno.symlink(gone, join(folder, "dangling"));
    await assert.rejects(textFiles([folder]), /dangling.*no such file/);
  }));
