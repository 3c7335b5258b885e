import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { servePage } from "../../examples/browser/serve.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { realTokenizer } from "../tokenizer/golden_tokenizers.ts";
import { cli } from "../run_cli.ts";
import { browserTest, takeShot } from "./chromium.ts";

const TEXT = "The quick brown fox, naïve ΟΔΥΣΣΕΥΣ 四大 don't stop.";

async function runPage(browser: Browser, device: string, ran: RegExp): Promise<void> {
  const server = await servePage(0);
  try {
    const page = await browser.newPage();
    const trouble: string[] = [];
    page.on("pageerror", (error) => trouble.push(String(error)));
    page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
    await page.goto(`http://127.0.0.1:${server.addr.port}/`);
    const mini = ["config.json", "model.safetensors.index.json"].map((name) =>
      goldenPath(`mini/${name}`)
    );
    const parts = [1, 2].map((part) => goldenPath(`mini/model-0000${part}-of-00002.safetensors`));
    await page.fill("#text", TEXT);
    await page.selectOption("#device", device);

    await page.setInputFiles("#files", [...mini, ...parts]);
    await page.click("button");
    await page.waitForSelector("#status.error");
    assert.match((await page.textContent("#status"))!, /tokenizer\.json was not picked/);

    await page.setInputFiles("#files", [...mini, ...parts, await realTokenizer("deepseek_v3")]);
    await page.click("button");
    await page.waitForSelector("tbody tr", { timeout: 60_000 });
    assert.match((await page.textContent("#status"))!, ran);
    const rows = await page.$$eval(
      "tbody tr",
      (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent!)),
    );
    await takeShot(page, `browser-${device}`);
    assert.deepEqual(trouble, []);
    const shown = rows.map((cells) => [cells[3], cells[5]].map(Number));
    for (const [t, gates] of (await commandLine()).entries()) {
      // The GPU sums in another order.
      gates.forEach((gate, layer) => assert.ok(Math.abs(shown[t][layer] - gate) < 1e-3, `${t}`));
    }
    assert.equal(shown.length, 20);
  } finally {
    await server.shutdown();
  }
}

/** The same gates by the command line. */
async function commandLine(): Promise<number[][]> {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/text.txt`;
    await Deno.writeTextFile(file, TEXT);
    const out = `${folder}/out.jsonl`;
    const { code, err } = await cli(
      ...["eval", goldenPath("mini"), "--text", file, "--seed", "1", "--device", "cpu"],
      ...["--tokenizer", await realTokenizer("deepseek_v3"), "--out", out],
    );
    assert.equal(code, 0, err);
    const lines = (await Deno.readTextFile(out)).trim().split("\n").map((line) => JSON.parse(line));
    return lines.map((line) => [1, 14].map((layer) => mean(line[`layers.${layer}.gate`])));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function mean(gates: number[]): number {
  return gates.reduce((sum, gate) => sum + gate, 0) / gates.length;
}

browserTest(
  "the browser example shows the gates of the command line, on the CPU",
  (browser) => runPage(browser, "auto", /^20 tokens in [\d.]+ s on CPU \(/),
);

browserTest(
  "the browser example shows the gates of the command line, on the page's WebGPU",
  (browser) => runPage(browser, "gpu", /^20 tokens in [\d.]+ s on GPU: /),
  ["--enable-unsafe-webgpu", "--enable-unsafe-swiftshader"],
);
