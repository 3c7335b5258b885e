import assert from "node:assert/strict";
import { program } from "../../cli/run.ts";
import { ABOUT } from "../../cli/command.ts";
import { reference } from "../../cli/reference.ts";
import { cli } from "../run_cli.ts";

Deno.test("no command: help on stderr, exit 2", async () => {
  const { code, out, err } = await cli();
  assert.equal(code, 2);
  assert.equal(out, "");
  assert.match(err, /Usage: engram/);
});

Deno.test("-h: help on stdout, exit 0", async () => {
  const { code, out, err } = await cli("-h");
  assert.equal(code, 0);
  assert.equal(err, "");
  assert.match(out, /Usage: engram/);
});

Deno.test("a misspelt command or option is answered with the one that was meant", async () => {
  const command = await cli("inspekt", "x");
  assert.equal(command.code, 2);
  assert.match(command.err, /Did you mean inspect/);
  const option = await cli("inspect", "x", "--jsn");
  assert.equal(option.code, 2);
  assert.match(option.err, /Did you mean --json/);
});

Deno.test("a usage error with --json is one JSON object on stderr", async () => {
  const { code, out, err } = await cli("layout", "x", "--tp", "none", "--json");
  assert.equal(code, 2);
  assert.equal(out, "");
  const { error } = JSON.parse(err);
  assert.equal(error.code, 2);
  assert.match(error.message, /--tp/);
});

Deno.test("every command says what it does, its permissions, and examples whose flags exist", () => {
  const root = program();
  for (const command of root.commands) {
    if (command.name() === "help") continue;
    const about = ABOUT.get(command);
    assert.ok(about, `${command.name()} is made by command()`);
    assert.ok(about.examples.length > 0, `${command.name()} has an example`);
    const known = command.options.flatMap((option) => [option.short, option.long]);
    for (const [line] of about.examples) {
      const words = line.split(" ");
      assert.ok(line.includes(command.name()), `${line} is about ${command.name()}`);
      for (const word of words.filter((word) => word.startsWith("--"))) {
        assert.ok(
          known.includes(word.split("=")[0]),
          `\`${line}\`: ${command.name()} takes ${word}`,
        );
      }
    }
  }
});

Deno.test("the README's reference is the command table's", async () => {
  const readme = await Deno.readTextFile(new URL("../../README.md", import.meta.url));
  const between = readme.split("<!-- reference -->\n")[1].split("<!-- /reference -->")[0];
  assert.equal(between.trim(), reference(program()).trim(), "run `deno task reference`");
});
