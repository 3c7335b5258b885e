import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { goldenPath } from "../golden/golden_data.ts";
import { goldenTensors } from "../golden/golden_tensors.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));

async function runExample(flags: string[], name: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--quiet", ...flags, join(EXAMPLES, name), ...args],
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

Deno.test("hash_text prints the golden rows of the golden text", async () => {
  const golden = goldenTensors("mini/expected.safetensors");
  const tokenizer = await realTokenizer("deepseek_v3");
  const printed = await runExample(
    ["-A"],
    "hash_text.ts",
    goldenPath("mini"),
    tokenizer,
    golden.metadata.text,
  );
  const lines = printed.trimEnd().split("\n").map((line) => line.split("\t"));
  assert.equal(lines.length, 64 * 2);
  assert.deepEqual(lines[0].slice(0, 2), ['"The"', "layer 1"]);
  const rows = golden.get("hash_ids", "I32").values;
  // The golden rows have two dead tokens, 9 and 20; none before looks back to them.
  const found = lines.slice(0, 18).map(([, , text]) => text.split(" ").map(Number));
  assert.deepEqual(found.flat(), Array.from(rows.subarray(0, 9 * 48)));
});

Deno.test("serve hashes step by step as at once", async () => {
  const printed = await runExample([], "serve.ts");
  assert.equal(
    printed,
    "rows of 5, 6, 2 tokens\nthe same rows as the whole request hashed at once\n",
  );
});
