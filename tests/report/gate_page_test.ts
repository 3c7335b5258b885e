import assert from "node:assert/strict";
import { gatePage } from "../../cli/report/gate_page.ts";
import { GateRecord } from "../../cli/report/gate_record.ts";
import { buildLayout } from "../../lib/layout/build_layout.ts";
import { parseConfig } from "../../lib/checkpoint/parse_config.ts";
import { browserTest, openPage, takeShot } from "../browser/chromium.ts";
import { goldenJson, goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";
import { random } from "../tokenizer/random_text.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";

const TEXTS = ["The quick brown fox. The quick brown fox, naïve 四大", "The\tquick\nend <b>&amp;"];

async function evaluated(folder: string) {
  const files = TEXTS.map((_, i) => `${folder}/${i}.txt`);
  for (const [i, file] of files.entries()) await Deno.writeTextFile(file, TEXTS[i]);
  const [html, out] = [`${folder}/gates.html`, `${folder}/gates.jsonl`];
  const result = await cli(
    ...["eval", goldenPath("mini"), "--text", ...files, "--seed", "1", "--device", "cpu"],
    ...["--tokenizer", await realTokenizer("deepseek_v3"), "--dead-token", "16", "--tp", "3"],
    ...["--out", out, "--html", html, "--json"],
  );
  assert.equal(result.code, 0, result.err);
  assert.equal(result.json().html, html);
  const lines = (await Deno.readTextFile(out)).trim().split("\n").map((line) => JSON.parse(line));
  const hash = `${folder}/hash.jsonl`;
  const hashed = await cli(
    ...["hash", goldenPath("mini"), "--text", ...files, "--dead-token", "16", "--out", hash],
    ...["--tokenizer", await realTokenizer("deepseek_v3")],
  );
  assert.equal(hashed.code, 0, hashed.err);
  const rows = (await Deno.readTextFile(hash)).trim().split("\n").map((line) => JSON.parse(line));
  return { html, lines, rows };
}

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Gates are kept in 16 bits and shown with three places. */
const near = (shown: string, gate: number) => Math.abs(Number(shown) - gate) < 6e-4;

browserTest("an evaluation's page shows tokens, gates, n-grams and rows", async (browser) => {
  const folder = await Deno.makeTempDir();
  try {
    const { html, lines, rows } = await evaluated(folder);
    const { page, trouble } = await openPage(browser, html);
    await page.waitForSelector("html[data-ready]");

    const spans = await page.$$eval("#text span", (spans) =>
      spans.map((span) => ({
        text: span.textContent!,
        label: span.getAttribute("aria-label")!,
        classes: span.className,
      })));
    assert.equal(spans.length, lines.length);
    const text = spans.map(({ text }) => text).join("");
    assert.equal(text.replaceAll("↵", "").replaceAll("⇥", ""), TEXTS.join(""));
    spans.forEach(({ label, classes }, t) => {
      const gate = mean(lines[t]["layers.1.gate"]);
      const shown = /, (?:dead|gate (\S+))$/.exec(label)![1];
      assert.ok(lines[t].dead ? shown === undefined : near(shown, gate), label);
      assert.equal(classes.includes("dead"), lines[t].dead);
    });
    assert.equal(spans.filter(({ classes }) => classes.includes("start")).length, 1);

    // Another layer and copy.
    await page.selectOption("#layer", { label: "14" });
    await page.selectOption("#copy", "2");
    const label = (await page.getAttribute("#t3", "aria-label"))!;
    assert.ok(near(label.split("gate ")[1], lines[3]["layers.14.gate"][2]), label);

    // Pointing at a token: its rows, and the tokens that share them.
    await page.hover("#t8");
    await page.waitForSelector("#details h3:has-text('Token 8')");
    const details = (await page.textContent("#details"))!;
    for (const row of rows[8].hash_ids[1]) {
      assert.ok(details.includes(String(row)), `row ${row} of ${details}`);
    }
    assert.match(details, /The quick brown/);
    // The other " fox" after the same three tokens shares every column.
    assert.match(await page.locator("#details button").first().innerText(), /^3 " fox" \(24\)$/);
    assert.ok((await page.getAttribute("#t3", "class"))!.includes("shares"));

    // By keyboard.
    await page.focus("#text");
    await page.keyboard.press("End");
    await page.waitForSelector(`#details h3:has-text('Token ${lines.length - 1}')`);
    await page.keyboard.press("ArrowLeft");
    await page.waitForSelector(`#details h3:has-text('Token ${lines.length - 2}')`);
    assert.equal(
      await page.getAttribute("#text", "aria-activedescendant"),
      `t${lines.length - 2}`,
    );

    assert.equal(await page.locator("figure svg").count(), 4);
    const ranks = (await page.textContent("section:last-of-type"))!;
    assert.match(ranks, /Layer 14 over 3 ranks, split by heads/);
    assert.deepEqual(trouble, []);
    await takeShot(page, "gates");
    await page.emulateMedia({ colorScheme: "dark" });
    await takeShot(page, "gates-dark");
    await page.emulateMedia({ media: "print", colorScheme: "light" });
    assert.equal(await page.isVisible(".bar"), false);
    await takeShot(page, "gates-print");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** A record of made-up tokens, without running the module. */
function madeUp(tokens: number): GateRecord {
  const next = random(5);
  const record = new GateRecord([1, 14], 4, 24);
  for (let done = 0; done < tokens; done += 4000) {
    const size = Math.min(4000, tokens - done);
    record.add(
      {
        tokenIds: Int32Array.from({ length: size }, () => next(500)),
        dead: new Uint8Array(size),
        starts: done === 0 ? [0] : [],
      },
      [0, 1].map(() => ({
        gate: Float32Array.from({ length: size * 4 }, () => next(1000) / 1000),
        ids: Int32Array.from({ length: size * 24 }, () => next(2 ** 29)),
      })),
    );
  }
  return record;
}

const layout = buildLayout(parseConfig(goldenJson("mini/config.json"), "mini"));
const about = {
  subtitle: "made up",
  layout,
  map: Int32Array.from({ length: 500 }, (_, id) => id),
  split: { tp: 2 },
};

browserTest("a page of 100,000 tokens opens, and turns to its last page", async (browser) => {
  const folder = await Deno.makeTempDir();
  try {
    const html = `${folder}/long.html`;
    await Deno.writeTextFile(html, await gatePage(madeUp(100_000), { ...about, tokenizer: null }));
    const { page, trouble } = await openPage(browser, html);
    await page.waitForSelector("html[data-ready]");
    assert.match((await page.textContent("#where"))!, /Page 1 of 67: tokens 0 to 1499 of 100000/);
    await page.click("#last");
    await page.waitForSelector("#details h3:has-text('Token 99000')");
    assert.equal(await page.locator("#text span").count(), 1000);
    await page.fill("#jump", "50000");
    await page.press("#jump", "Enter");
    await page.waitForSelector("#details h3:has-text('Token 50000')");
    assert.deepEqual(trouble, []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

browserTest("nothing that a file or token says becomes part of the page", async (browser) => {
  const folder = await Deno.makeTempDir();
  try {
    const attack = `"'></script><script>window.hit=1</script><img src=x onerror="window.hit=1">`;
    const tokenizer = { decodeOne: () => attack, rawToken: () => attack };
    const html = `${folder}/attack.html`;
    await Deno.writeTextFile(
      html,
      // deno-lint-ignore no-explicit-any -- a page needs only these two
      await gatePage(madeUp(50), { ...about, subtitle: attack, tokenizer: tokenizer as any }),
    );
    const { page, trouble } = await openPage(browser, html);
    await page.waitForSelector("html[data-ready]");
    await page.hover("#t3");
    await page.waitForSelector("#details h3:has-text('Token 3')");
    assert.equal(await page.evaluate("window.hit"), undefined);
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.textContent("header p"), attack);
    assert.equal(await page.textContent("#t3"), attack);
    assert.deepEqual(trouble, []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
