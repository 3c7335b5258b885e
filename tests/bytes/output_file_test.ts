import { deepEqual, equal, match, throws } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { OutputFile } from "../../lib/bytes/output_file.ts";
import { inFolder, namesIn } from "./in_folder.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("an output appears whole, under its name, at commit", () =>
  inFolder((folder) => {
    using file = OutputFile.create(`${folder}/f`, { size: 6 });
    file.write(bytes("cd"));
    file.writeAt(bytes("ab"), 0);
    file.write(bytes("ef"));
    equal(file.size, 4);
    deepEqual(namesIn(folder), [".f.partial"]);
    file.commit();
    deepEqual(namesIn(folder), ["f"]);
    equal(Deno.readTextFileSync(`${folder}/f`), "abef");
    throws(() => file.write(bytes("x")), { kind: "usage", message: /it is closed/ });
    throws(() => file.commit(), { kind: "usage", message: /it is closed/ });
  }));

Deno.test("an output that is not committed leaves nothing, and the old file as it was", () =>
  inFolder((folder) => {
    Deno.writeTextFileSync(`${folder}/f`, "old");
    {
      using file = OutputFile.create(`${folder}/f`, { force: true });
      file.write(bytes("new"));
    }
    deepEqual(namesIn(folder), ["f"]);
    equal(Deno.readTextFileSync(`${folder}/f`), "old");
  }));

Deno.test("a file that exists is replaced only by force, also when it appears meanwhile", () =>
  inFolder((folder) => {
    const exists = { kind: "unavailable", message: /it exists already/, hint: /--force/ };
    using early = OutputFile.create(`${folder}/f`);
    early.write(bytes("late"));
    Deno.writeTextFileSync(`${folder}/f`, "old");
    throws(() => early.commit(), exists);
    throws(() => OutputFile.create(`${folder}/f`), exists);
    deepEqual(namesIn(folder), ["f"]);
    using forced = OutputFile.create(`${folder}/f`, { force: true });
    forced.write(bytes("new"));
    forced.commit();
    equal(Deno.readTextFileSync(`${folder}/f`), "new");
  }));

Deno.test("what cannot be written is refused at once", () =>
  inFolder((folder) => {
    const create = (path: string, size?: number) => () =>
      OutputFile.create(path, { force: true, ...(size ? { size } : {}) });
    throws(create(folder), { kind: "unavailable", message: /found a folder of that name/ });
    throws(create("/dev/null"), { kind: "unavailable", message: /found a pipe or device/ });
    throws(create(`${folder}/no/f`), { kind: "unavailable", message: /no such file or folder/ });
    throws(create(`${folder}/f`, 2 ** 52), {
      kind: "unavailable",
      message: /\d+ bytes are free on its disk, wanted 4503599627370496/,
    });
    deepEqual(namesIn(folder), []);
  }));

Deno.test("two writers of one file: the second is refused, and the first finishes", () =>
  inFolder((folder) => {
    using first = OutputFile.create(`${folder}/f`);
    first.write(bytes("first"));
    throws(() => OutputFile.create(`${folder}/f`), {
      kind: "unavailable",
      message: /another program is writing it/,
    });
    first.commit();
    equal(Deno.readTextFileSync(`${folder}/f`), "first");
  }));

Deno.test("the leftover of a killed program is taken over", () =>
  inFolder((folder) => {
    Deno.writeTextFileSync(`${folder}/.f.partial`, "much longer than what comes");
    using file = OutputFile.create(`${folder}/f`);
    file.write(bytes("short"));
    file.commit();
    deepEqual(namesIn(folder), ["f"]);
    equal(Deno.readTextFileSync(`${folder}/f`), "short");
  }));

Deno.test("a program that exits in the middle leaves no file", () =>
  inFolder(async (folder) => {
    const module = new URL("../../lib/bytes/output_file.ts", import.meta.url).href;
    const code = `import { OutputFile } from ${JSON.stringify(module)};
      const file = OutputFile.create(${JSON.stringify(`${folder}/f`)});
      file.write(new Uint8Array(5));
      console.log([...Deno.readDirSync(${JSON.stringify(folder)})].map((f) => f.name));
      Deno.exit(7);`;
    const config = fileURLToPath(new URL("../../deno.json", import.meta.url));
    const ran = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--config", config, code],
    }).output();
    equal(ran.code, 7, new TextDecoder().decode(ran.stderr));
    match(new TextDecoder().decode(ran.stdout), /\.f\.partial/);
    deepEqual(namesIn(folder), []);
  }));
