/**
 * Shows that the tests notice: applies each deliberate fault to a copy of the tree, runs the tests
 * that ought to fail, and prints the first that did. `deno task mutations [WORDS…]`; with words,
 * only the faults whose names hold one of them. Exits with 1 where a fault went unnoticed.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Mutation, MUTATIONS } from "./mutations.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Copies every file of the working tree that git does not ignore. */
async function copyTree(to: string): Promise<void> {
  const listed = await new Deno.Command("git", {
    args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd: root,
  }).output();
  const files = new TextDecoder().decode(listed.stdout).split("\0").filter((name) => name !== "");
  for (const file of files) {
    await Deno.mkdir(join(to, dirname(file)), { recursive: true });
    try {
      await Deno.copyFile(join(root, file), join(to, file));
    } catch (error) {
      // Deleted, and not yet committed so.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/** Runs tests in `tree`; gives the names of those that failed, and everything printed. */
async function failing(
  tree: string,
  tests: readonly string[],
): Promise<{ code: number; failed: string[]; printed: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--quiet", "--reporter=tap", ...tests],
    cwd: tree,
    env: { NO_COLOR: "1" },
  }).output();
  const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  const failed = [...printed.matchAll(/^not ok \d+ - (.*)$/gm)].map((match) => match[1]);
  return { code, failed, printed };
}

/** Applies `mutation` in `tree` for as long as `check` runs. */
async function withMutation<T>(
  tree: string,
  { file, find, replace, name }: Mutation,
  check: () => Promise<T>,
): Promise<T> {
  const path = join(tree, file);
  const text = await Deno.readTextFile(path);
  const places = text.split(find).length - 1;
  if (places !== 1) {
    throw new Error(`${name}: found its place in ${file} ${places} times, wanted once`);
  }
  await Deno.writeTextFile(path, text.replace(find, () => replace));
  try {
    return await check();
  } finally {
    await Deno.writeTextFile(path, text);
  }
}

const words = Deno.args;
const chosen = MUTATIONS.filter(({ name }) =>
  words.length === 0 || words.some((word) => name.includes(word))
);
const tree = await Deno.makeTempDir({ prefix: "engram-mutations-" });
let unnoticed = 0;
try {
  await copyTree(tree);
  const sound = await failing(tree, [...new Set(chosen.flatMap(({ tests }) => tests))]);
  if (sound.code !== 0) {
    console.error(sound.printed);
    throw new Error("the tests fail without any fault; mend them first");
  }
  for (const mutation of chosen) {
    const { code, failed, printed } = await withMutation(
      tree,
      mutation,
      () => failing(tree, mutation.tests),
    );
    if (code !== 0 && failed.length > 0) {
      const more = failed.length > 1 ? ` and ${failed.length - 1} more` : "";
      console.log(`caught     ${mutation.name}\n           by "${failed[0]}"${more}`);
    } else {
      unnoticed++;
      console.log(`UNNOTICED  ${mutation.name}\n           in ${mutation.file}`);
      if (code !== 0) console.log(printed);
    }
  }
} finally {
  await Deno.remove(tree, { recursive: true });
}
console.log(`${chosen.length - unnoticed} of ${chosen.length} faults caught`);
if (unnoticed > 0) Deno.exit(1);
