import { makeFolder } from "../../lib/bytes/make_folder.ts";
import { EngramError } from "../../lib/errors.ts";
import { begin, command } from "../command.ts";
import { integer } from "../options.ts";
import { NATIVE_TOKENIZER } from "../permissions.ts";

/** `engram demo`: makes a small checkpoint and runs the main job on it. */
export function demoCommand() {
  return command("demo", {
    summary: "Make a small checkpoint and run the main job on it, step by step",
    details: "The checkpoint has random weights in the released model's layout, and the real " +
      "DeepSeek-V3 tokenizer. Every step is a command you can type yourself.",
    examples: [
      ["demo", "in a temporary folder, removed afterwards"],
      ["demo --out demo", "keep the checkpoint and what was made of it"],
    ],
    permissions: [["--allow-read --allow-write"], NATIVE_TOKENIZER],
  })
    .option("--out <dir>", "keep everything in this new folder")
    .option("--seed <n>", "seed of the weights", integer("--seed", 0, 2 ** 32 - 1), 1)
    .action(async ({ out, seed, ...options }) => {
      const { printer, signal } = begin(options);
      const { runDemo } = await import("../demo/run_demo.ts");
      const folder = out === undefined
        ? Deno.makeTempDirSync({ prefix: "engram-demo-" })
        : makeNew(out);
      try {
        const steps = await runDemo(folder, seed, {
          signal,
          show: printer.json ? () => {} : (text) => printer.data(text),
        });
        if (printer.json) {
          printer.result({ folder: out === undefined ? null : folder, steps }, String);
        } else if (out !== undefined) printer.data(`Everything is kept in ${folder}`);
      } finally {
        if (out === undefined) Deno.removeSync(folder, { recursive: true });
      }
    });
}

function makeNew(folder: string): string {
  makeFolder(folder);
  if ([...Deno.readDirSync(folder)].length === 0) return folder;
  throw new EngramError("unavailable", `Cannot use \`${folder}\`: it is not empty`, {
    where: folder,
    hint: "Give a new folder",
  });
}
