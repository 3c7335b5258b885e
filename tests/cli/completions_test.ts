import assert from "node:assert/strict";
import { cli } from "../run_cli.ts";

/** What bash offers after the words typed so far, the last one unfinished. */
async function bashOffers(...words: string[]): Promise<string[]> {
  const { out } = await cli("completions", "bash");
  const line = words.map((word) => `'${word}'`).join(" ");
  const script = `${out}
COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}
_engram; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await new Deno.Command("bash", { args: ["-c", script] }).output();
  return new TextDecoder().decode(stdout).trim().split("\n");
}

Deno.test("bash completes commands, flags and choices, and leaves paths to the shell", async () => {
  assert.deepEqual(await bashOffers("engram", "compl"), ["completions"]);
  assert.deepEqual(await bashOffers("engram", "completions", "--js"), ["--json"]);
  assert.deepEqual(await bashOffers("engram", "inspect", "some/pa"), [""]);
});

Deno.test("every shell's script names every command", async () => {
  const help = await cli("--help");
  const commands = [...help.out.matchAll(/^ {2}([a-z]+) /gm)].map((match) => match[1])
    .filter((name) => name !== "help");
  assert.ok(commands.length > 5);
  for (const shell of ["bash", "zsh", "fish"]) {
    const { out, code } = await cli("completions", shell);
    assert.equal(code, 0);
    for (const name of commands) assert.match(out, new RegExp(`\\b${name}\\b`), `${shell} ${name}`);
  }
});

Deno.test("an unknown shell is a usage error that lists the shells", async () => {
  const { code, err } = await cli("completions", "tcsh");
  assert.equal(code, 2);
  assert.match(err, /bash, zsh, fish/);
});
