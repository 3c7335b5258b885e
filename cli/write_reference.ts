/** Writes the reference of the commands into README.md; `deno task reference`. */
import { reference } from "./reference.ts";
import { program } from "./run.ts";

const path = new URL("../README.md", import.meta.url);
const [before, old] = Deno.readTextFileSync(path).split("<!-- reference -->\n");
const after = old.split("<!-- /reference -->")[1];
Deno.writeTextFileSync(
  path,
  `${before}<!-- reference -->\n\n${reference(program())}\n<!-- /reference -->${after}`,
);
