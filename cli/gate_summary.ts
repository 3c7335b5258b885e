import type { Tokenizer } from "../lib/tokenizer/tokenizer.ts";
import { type GatedToken, GateTally } from "./gate_tally.ts";
import { table } from "./printer.ts";
import type { SpooledTokens } from "./token_spool.ts";
import { count } from "./units.ts";

/** Strongest and weakest tokens shown of each layer. */
const RANKED = 10;

/** Texts of up to this many tokens are shown whole. */
const SHOWN_WHOLE = 80;

/** What the gates of a text say, for people and as JSON; in constant memory. */
export class GateSummary {
  readonly #layers: readonly GateTally[];
  readonly #copies: number;
  readonly #tokenizer: Tokenizer | null;
  #tokens = 0;

  /** Of the given layers; tokens are spelt by `tokenizer` where there is one. */
  constructor(layerIds: readonly number[], copies: number, tokenizer: Tokenizer | null) {
    const kept = { ranked: RANKED, first: SHOWN_WHOLE };
    this.#layers = layerIds.map((id) => new GateTally(id, copies, kept));
    this.#copies = copies;
    this.#tokenizer = tokenizer;
  }

  /** Adds a batch: its tokens, and for each layer F32 [tokens, copies]. */
  add({ tokenIds, dead }: SpooledTokens, gates: readonly Float32Array[]): void {
    this.#layers.forEach((layer, i) => {
      tokenIds.forEach((tokenId, t) => {
        const own = gates[i].subarray(t * this.#copies, (t + 1) * this.#copies);
        layer.add(this.#tokens + t, tokenId, dead[t] === 1, own);
      });
    });
    this.#tokens += tokenIds.length;
  }

  /** For --json. Means, least and largest gate are over live tokens, null without any. */
  json(): unknown[] {
    const tokens = (list: readonly GatedToken[]) =>
      list.map((entry) => ({ ...entry, text: this.#text(entry.token_id) }));
    return this.#layers.map((layer) => ({
      layer_id: layer.layerId,
      mean_gate: layer.live ? mean(layer.means) : null,
      mean_gate_by_copy: layer.live ? layer.means : null,
      min_gate: layer.live ? layer.min : null,
      max_gate: layer.live ? layer.max : null,
      strongest: tokens(layer.strongest),
      weakest: tokens(layer.weakest),
    }));
  }

  /** For people: a short text whole, and each layer's strongest and weakest tokens. */
  text(): string {
    const parts = this.#layers.map((layer) => this.#layerText(layer));
    return this.#tokens <= SHOWN_WHOLE
      ? [this.#whole(), ...parts].join("\n\n")
      : parts.join("\n\n");
  }

  #layerText(layer: GateTally): string {
    if (layer.live === 0) return `layer ${layer.layerId}: no live token`;
    const head = `layer ${layer.layerId}: mean gate ${fixed(mean(layer.means))}, ` +
      `by copy ${layer.means.map(fixed).join(" ")}, ` +
      `from ${fixed(layer.min)} to ${fixed(layer.max)} over ${count(layer.live)} live tokens`;
    if (this.#tokens <= RANKED) return head;
    const list = (tokens: readonly GatedToken[]) =>
      table(
        ["token", "id", ...this.#textHead(), "gate", "by copy"],
        tokens.map((entry) => [
          entry.token,
          entry.token_id,
          ...this.#textCell(entry.token_id),
          fixed(entry.mean),
          entry.gates.map(fixed).join(" "),
        ]),
      );
    return `${head}\n\nstrongest\n${list(layer.strongest)}\n\nweakest\n${list(layer.weakest)}`;
  }

  #whole(): string {
    const [first] = this.#layers;
    return table(
      [
        "token",
        "id",
        ...this.#textHead(),
        ...this.#layers.map((l) => `gate of layer ${l.layerId}`),
      ],
      first.first.map(({ token, token_id, dead }, t) => [
        token,
        token_id,
        ...this.#textCell(token_id),
        ...this.#layers.map((layer) => (dead ? "dead" : fixed(layer.first[t].mean))),
      ]),
    );
  }

  #textHead(): string[] {
    return this.#tokenizer ? ["text"] : [];
  }

  #textCell(tokenId: number): string[] {
    return this.#tokenizer ? [JSON.stringify(this.#text(tokenId))] : [];
  }

  #text(tokenId: number): string | null {
    if (!this.#tokenizer) return null;
    const text = this.#tokenizer.decodeOne(tokenId);
    // A part of a character says more as the vocabulary spells it.
    return text.includes("\ufffd") ? this.#tokenizer.rawToken(tokenId) ?? text : text;
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function fixed(value: number): string {
  return value.toFixed(4);
}
