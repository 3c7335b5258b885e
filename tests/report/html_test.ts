import assert from "node:assert/strict";
import fc from "fast-check";
import { escapeHtml, jsonScript, markup } from "../../cli/report/html.ts";
import { page } from "../../cli/report/page.ts";
import { htmlTable } from "../../cli/report/table.ts";

Deno.test("parts of a template are escaped, and HTML is not escaped twice", () => {
  const inner = markup`<b>${"<i>"}</b>`;
  assert.equal(
    markup`<p title="${`"&'`}">${inner}${[inner, 1]}${null}</p>`.text,
    `<p title="&#34;&#38;&#39;"><b>&#60;i&#62;</b><b>&#60;i&#62;</b>1</p>`,
  );
});

Deno.test("escaped text holds no character that HTML gives a meaning, but stays itself", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const escaped = escapeHtml(text);
    assert.doesNotMatch(escaped, /[<>"'`]|&(?!#\d+;)/);
    const back = escaped.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
    assert.equal(back, text);
  }));
});

Deno.test("JSON in a script element cannot end it", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    const script = jsonScript("x", { text: `</script><!--${text}` }).text;
    const json = /^<script type="application\/json" id="x">([^<>]*)<\/script>$/.exec(script);
    assert.deepEqual(JSON.parse(json![1]), { text: `</script><!--${text}` });
  }));
});

Deno.test("a page forbids itself to load anything", () => {
  const text = page({ title: "<t>", subtitle: "&s", body: markup`<p>b</p>`, script: "1" });
  assert.match(text, /Content-Security-Policy"\s+content="default-src 'none';/);
  assert.match(text, /<title>&#60;t&#62;<\/title>/);
  assert.doesNotMatch(text.replaceAll("http://www.w3.org", ""), /https?:|url\(|@import/);
});

Deno.test("columns of numbers stand to the right, with their heads", () => {
  const { text } = htmlTable("c", ["n", "t"], [[12345, "<x>"], [0.5, "1"]]);
  assert.match(text, /<th scope="col" class="number">n<\/th><th scope="col" class="text">t<\/th>/);
  assert.match(text, /<td class="number">12,345<\/td><td class="text">&#60;x&#62;<\/td>/);
  assert.match(text, /<td class="number">0.5000<\/td><td class="text">1<\/td>/);
});
