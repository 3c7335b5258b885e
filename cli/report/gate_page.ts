import type { Layout } from "../../lib/layout/layout.ts";
import type { RankSplit } from "../../lib/layout/rank_spans.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";
import script from "./gate_page.js" with { type: "text" };
import { columnBars, gateCurve, gateHistogram, hitCurves } from "./gate_plots.ts";
import type { GateRecord } from "./gate_record.ts";
import {
  distinctRows,
  type Gates,
  hitCurve,
  meanGates,
  rankLoads,
  strongNgrams,
} from "./gate_stats.ts";
import { binaryScript, type Html, jsonScript, markup } from "./html.ts";
import { page } from "./page.ts";
import { htmlTable } from "./table.ts";

/** What the page says beside the record. */
export interface GatePageAbout {
  /** What was evaluated and how, in one line. */
  readonly subtitle: string;
  readonly layout: Layout;
  /** Compressed id of each token id. */
  readonly map: Int32Array;
  /** Spells the tokens; null where only ids are known. */
  readonly tokenizer: Tokenizer | null;
  /** The split whose ranks are shown. */
  readonly split: RankSplit;
}

/** N-grams of each size listed for a layer. */
const MOST_NGRAMS = 12;

/** The page of an evaluation: the text shaded by its gates, and what the text asks of the tables. */
export async function gatePage(record: GateRecord, about: GatePageAbout): Promise<string> {
  const ids = record.ids();
  const gates: Gates = {
    tokens: record.tokens,
    layers: record.layerIds.length,
    copies: record.copies,
    columns: record.columns,
    compressed: ids.map((id) => about.map[id]),
    flags: record.flags(),
    gates: record.gates(),
    rows: record.rows(),
  };
  const { texts, words } = spell(ids, about.tokenizer);
  const means = meanGates(gates);
  const shown = (token: number, n: number) =>
    Array.from(words.subarray(token - n + 1, token + 1), (word) => texts[word]).join("");
  return page({
    title: "Engram gates",
    subtitle: about.subtitle,
    script,
    body: markup`
      ${reader(record)}
      <section aria-labelledby="gates-title"><h2 id="gates-title">Gates</h2>
      ${deadNote(gates)}
      ${await gateHistogram(gates, record.layerIds)}
      ${await gateCurve(gates, means, record.layerIds)}</section>
      <section aria-labelledby="ngrams-title">
        <h2 id="ngrams-title">Strongest n-grams</h2>
        <div class="columns">${
      record.layerIds.map((id, layer) =>
        htmlTable(
          `Layer ${id}`,
          ["n", "text", "occurs", "mean gate", "ends at token"],
          strongNgrams(gates, means, layer, about.layout.maxNgramSize, MOST_NGRAMS).map((
            { n, token, count, gate },
          ) => [
            n,
            markup`<code>${JSON.stringify(shown(token, n))}</code>`,
            count,
            gate.toFixed(4),
            token,
          ]),
        )
      )
    }</div>
      </section>
      ${await rowsSection(gates, record.layerIds, about)}
      ${
      jsonScript("about", {
        tokens: gates.tokens,
        layers: record.layerIds,
        copies: gates.copies,
        columns: gates.columns,
        heads: about.layout.nHeads,
        texts,
      })
    }
      ${await binaryScript("words", words)}
      ${await binaryScript("ids", ids)}
      ${await binaryScript("compressed", gates.compressed as Int32Array<ArrayBuffer>)}
      ${await binaryScript("flags", gates.flags as Uint8Array<ArrayBuffer>)}
      ${await binaryScript("gates", gates.gates as Uint16Array<ArrayBuffer>)}
      ${await binaryScript("rows", gates.rows as Int32Array<ArrayBuffer>)}
    `,
  });
}

/** Each distinct token's text once, and which of them stands where. */
function spell(ids: Int32Array, tokenizer: Tokenizer | null) {
  const numbers = new Map<number, number>();
  const texts: string[] = [];
  const words = new Int32Array(ids.length);
  ids.forEach((id, token) => {
    let word = numbers.get(id);
    if (word === undefined) {
      numbers.set(id, word = texts.length);
      const text = tokenizer?.decodeOne(id) ?? ` #${id}`;
      texts.push(text.includes("\uFFFD") ? tokenizer!.rawToken(id) ?? text : text);
    }
    words[token] = word;
  });
  return { texts, words };
}

function deadNote({ tokens, flags }: Gates): Html {
  let dead = 0;
  for (const flag of flags) dead += flag & 1;
  const [all, alive] = [tokens, tokens - dead].map((count) => count.toLocaleString("en-US"));
  return markup`<p>
    Of ${all} tokens ${alive} are live. Dead ones take no part in n-grams, have gate 0, and are struck
    through in the text.
  </p>`;
}

function reader({ layerIds, copies }: GateRecord): Html {
  return markup`
    <section aria-labelledby="text-title">
      <h2 id="text-title">The text, shaded by its gates</h2>
      <p
        id="keys">Point at a token, or move with the arrow keys, Page Up, Page Down, Home and End, to see its n-grams, its rows and the tokens that share them.</p>
      <noscript><p><strong>The text needs JavaScript; the plots and tables below do not.</strong></p></noscript>
      <div class="bar">
        <label>Layer <select id="layer">${
    layerIds.map((id, layer) => markup`<option value="${layer}">${id}</option>`)
  }</select></label>
        <label>Copy <select id="copy"><option value="-1">mean of all</option>${
    Array.from({
      length: copies,
    }, (_, copy) => markup`<option value="${copy}">${copy}</option>`)
  }</select></label>
        <span>gate 0 <span class="legend" role="img" aria-label="from no colour at gate 0 to full colour at gate 1"></span> 1</span>
      </div>
      <nav class="bar" aria-label="Pages of the text">
    <button type="button" id="first">First</button><button type="button" id="back">Back</button>
    <button type="button" id="next">Next</button><button type="button" id="last">Last</button>
    <label>Token <input id="jump" type="number" min="0" value="0" size="8"></label>
    <span id="where" role="status"></span>
      </nav>
      <div id="reader">
        <div id="text" role="listbox" tabindex="0" aria-label="Tokens of the text"
          aria-describedby="keys"></div>
        <aside id="details" aria-live="polite" aria-label="The token in focus"></aside>
      </div>
    </section>
  `;
}

async function rowsSection(
  gates: Gates,
  layerIds: readonly number[],
  { layout, split }: GatePageAbout,
): Promise<Html> {
  const distinct = distinctRows(gates);
  const curves = layerIds.map((_, layer) => hitCurve(gates, layer));
  const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
  return markup`<section aria-labelledby="rows-title"><h2 id="rows-title">Rows</h2>
${
    htmlTable(
      "Row requests over the whole text",
      ["layer", "requests", "distinct rows", "distinct share"],
      layerIds.map((id, layer) => {
        const requests = gates.tokens * gates.columns;
        const rows = total(distinct[layer]);
        return [
          `${id}`,
          requests,
          rows,
          requests === 0 ? "–" : `${(rows / requests * 100).toFixed(1)} %`,
        ];
      }),
    )
  }
${await columnBars(distinct, layerIds, layout.nHeads)}
<div class="columns">${
    layerIds.map((id, layer) =>
      htmlTable(
        `Layer ${id} over ${split.tp * (split.dp ?? 1)} ranks, split by ${split.split ?? "heads"}`,
        ["rank", "columns", "requests", "distinct rows"],
        rankLoads(gates, layout, layer, split).map((load) => [
          load.rank,
          load.columns,
          load.requests,
          load.distinct,
        ]),
      )
    )
  }</div>
${await hitCurves(curves, layerIds)}</section>`;
}
