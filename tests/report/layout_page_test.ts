import assert from "node:assert/strict";
import { browserTest, openPage, takeShot } from "../browser/chromium.ts";
import { goldenPath } from "../golden/golden_data.ts";
import { cli } from "../run_cli.ts";

browserTest("inspect's page draws layers, columns, ranks and files", async (browser) => {
  const folder = await Deno.makeTempDir();
  try {
    const html = `${folder}/layout.html`;
    const { code, err, json } = await cli(
      "inspect",
      goldenPath("mini"),
      "--html",
      html,
      "--json",
    );
    assert.equal(code, 0, err);
    const { page, trouble } = await openPage(browser, html);
    assert.equal(await page.locator("figure svg").count(), 3);
    const text = (await page.textContent("main"))!;
    for (const { name, offset } of json().engram_tensors) {
      assert.ok(text.includes(name) && text.includes(offset.toLocaleString("en-US")), name);
    }
    // Rank 1 of layer 1 begins behind the six columns of rank 0: the primes 97 … 113.
    const ranks = page.locator("table:has(caption:text('Layer 1 over 4 ranks'))");
    const row = await ranks.locator("tbody tr").nth(1).locator("td").allTextContents();
    const weight = json().engram_tensors.find(({ name }: { name: string }) =>
      name === "layers.1.engram.embed.weight"
    );
    const first = [97, 101, 103, 107, 109, 113].reduce((sum, prime) => sum + prime, 0);
    const from = (weight.offset + first * 64).toLocaleString("en-US");
    assert.deepEqual([row[0], row[1], row[2], row[4]], ["1", "6–11", String(first), from]);
    assert.deepEqual(trouble, []);
    await takeShot(page, "layout");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a page does not replace a file, and is not begun without a place", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const html = `${folder}/layout.html`;
    await Deno.writeTextFile(html, "mine");
    const refused = await cli("inspect", goldenPath("mini"), "--html", html, "--json");
    assert.equal(refused.code, 4);
    assert.match(JSON.parse(refused.err).error.hint, /--force/);
    assert.equal(await Deno.readTextFile(html), "mine");
    const forced = await cli("inspect", goldenPath("mini"), "--html", html, "--force");
    assert.equal(forced.code, 0, forced.err);
    assert.match(await Deno.readTextFile(html), /^<!doctype html>/);
    assert.equal(
      (await cli("inspect", goldenPath("mini"), "--html", `${folder}/no/x.html`)).code,
      4,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
