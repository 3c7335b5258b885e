import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { part, partOfSizes, partRange } from "../../cli/part.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { goldenTensors, TensorFile } from "../golden/golden_tensors.ts";
import { cli } from "../run_cli.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";
import { process } from "./run_process.ts";

const MINI = goldenPath("mini");
const golden = goldenTensors("mini/expected.safetensors");
const TOKENIZER = await realTokenizer("deepseek_v3");

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A saved map: building it takes a second each time. */
async function mapIn(folder: string): Promise<string> {
  const map = join(folder, "map.safetensors");
  assert.equal((await cli("map", TOKENIZER, "--out", map)).code, 0);
  return map;
}

/** Runs the same command for every part at once, each a process of its own. */
async function hashParts(common: string[], parts: number, out: (index: number) => string) {
  const runs = Array.from(
    { length: parts },
    (_, i) => process(["hash", ...common, "--part", `${i}/${parts}`, "--out", out(i)]),
  );
  for (const { code, err } of await Promise.all(runs)) assert.equal(code, 0, err);
}

Deno.test("token ids hashed in parts by processes of their own are the whole's, in every format", () =>
  inFolder(async (folder) => {
    const map = await mapIn(folder);
    // Requests of 20, 0, 40 and 4 tokens; the parts cut the first and the third.
    const ids = join(folder, "ids.json");
    const all = Array.from(golden.get("token_ids", "I32").values);
    const requests = [all.slice(0, 20), [], all.slice(20, 60), all.slice(60)];
    await Deno.writeTextFile(ids, JSON.stringify(requests));
    const common = [MINI, "--ids", ids, "--map", map, "--quiet"];

    const whole = join(folder, "whole.safetensors");
    assert.equal((await cli("hash", ...common, "--out", whole)).code, 0);
    await hashParts(common, 4, (i) => join(folder, `part-${i}.safetensors`));
    const files = [0, 1, 2, 3].map((i) => new TensorFile(join(folder, `part-${i}.safetensors`)));
    for (const name of ["token_ids", "hash_ids"]) {
      const joined = files.flatMap((file) => Array.from(file.get(name, "I32").values));
      assert.deepEqual(joined, Array.from(new TensorFile(whole).get(name, "I32").values), name);
    }
    const starts = files.flatMap((file, i) =>
      Array.from(file.get("starts", "I64").values.slice(0, -1), (start) => Number(start) + 16 * i)
    );
    assert.deepEqual(starts, [0, 20, 20, 60]);

    const lines = join(folder, "whole.jsonl");
    assert.equal((await cli("hash", ...common, "--out", lines)).code, 0);
    let joined = "";
    for (let i = 0; i < 3; i++) {
      const out = join(folder, `part-${i}.jsonl`);
      assert.equal((await cli("hash", ...common, "--part", `${i}/3`, "--out", out)).code, 0);
      joined += await Deno.readTextFile(out);
    }
    assert.equal(joined, await Deno.readTextFile(lines));
  }));

Deno.test("parts that begin just behind dead tokens do not look past them", () =>
  inFolder(async (folder) => {
    // Tokens 9 and 20 are dead; the second and third of six parts begin at 10 and 21.
    const ids = goldenPath("mini/expected.safetensors");
    const common = [MINI, "--ids", ids, "--map", await mapIn(folder), "--quiet"];
    const rows: number[] = [];
    for (let i = 0; i < 6; i++) {
      const out = join(folder, `part-${i}.safetensors`);
      assert.equal((await cli("hash", ...common, "--part", `${i}/6`, "--out", out)).code, 0);
      rows.push(...new TensorFile(out).get("hash_ids", "I32").values);
    }
    assert.deepEqual(rows, Array.from(golden.get("hash_ids", "I32").values));
  }));

Deno.test("a folder of texts hashed in parts: each text whole in one of them", () =>
  inFolder(async (folder) => {
    const corpus = join(folder, "corpus");
    await Deno.mkdir(corpus);
    const words = golden.metadata.text.split(" ");
    for (let i = 0; i < 7; i++) {
      await Deno.writeTextFile(join(corpus, `${i}.txt`), words.slice(i, 3 * i).join(" "));
    }
    const map = ["--map", await mapIn(folder), "--tokenizer", TOKENIZER];
    const common = [MINI, "--text", corpus, ...map, "--quiet"];
    const whole = join(folder, "whole.jsonl");
    assert.equal((await cli("hash", ...common, "--out", whole)).code, 0);
    await hashParts(common, 3, (i) => join(folder, `part-${i}.jsonl`));
    const parts = await Promise.all(
      [0, 1, 2].map((i) => Deno.readTextFile(join(folder, `part-${i}.jsonl`))),
    );
    assert.equal(parts.join(""), await Deno.readTextFile(whole));
    assert.ok(parts.every((text) => text !== ""), "all parts have work");
  }));

Deno.test("standard input is a text like any other", async () => {
  const args = ["hash", MINI, "--text", "-", "--tokenizer", TOKENIZER, "--json"];
  const result = await process(args, golden.metadata.text);
  assert.equal(result.code, 0, result.err);
  assert.equal(JSON.parse(result.out).tokens, 64);
});

Deno.test("ranges of parts cover everything once, as evenly as can be, past 2^53 too", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.integer({ min: 1, max: 1000 }), (count, of) => {
      let end = 0;
      const sizes = new Set<number>();
      for (let index = 0; index < of; index++) {
        const [from, to] = partRange(count, { index, of });
        assert.equal(from, end);
        sizes.add(to - from);
        end = to;
      }
      assert.equal(end, count);
      assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1);
    }),
    { numRuns: 100, seed: 9 },
  );
});

Deno.test("runs of sizes cover everything once, in order", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 10_000 })),
      fc.integer({ min: 1, max: 20 }),
      (sizes, of) => {
        let next = 0;
        for (let index = 0; index < of; index++) {
          const [begin, end] = partOfSizes(sizes, { index, of });
          if (begin === end) continue;
          assert.equal(begin, next);
          next = end;
        }
        assert.equal(next, sizes.length);
      },
    ),
    { numRuns: 500, seed: 9 },
  );
});

Deno.test("equal sizes are dealt evenly", () => {
  const sizes = new Array(12).fill(1000);
  const runs = [0, 1, 2, 3].map((index) => partOfSizes(sizes, { index, of: 4 }));
  assert.deepEqual(runs, [[0, 3], [3, 6], [6, 9], [9, 12]]);
});

for (
  const text of ["", "1", "4/4", "5/4", "-1/4", "1/0", "0/0", "1.5/4", "a/b", "0/1000001", "1 /4"]
) {
  Deno.test(`--part "${text}" is refused`, () => {
    assert.throws(() => part(text), { name: "EngramError", kind: "usage" });
  });
}
