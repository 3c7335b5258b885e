/// <reference lib="dom" />
import { type DeviceChoice, EngramError } from "../../lib/browser.ts";
import { evaluateText, type Evaluation } from "./evaluate_text.ts";

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const status = element("status");
const result = element("result");

element<HTMLFormElement>("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  result.replaceChildren();
  say("Running …");
  const picked = element<HTMLInputElement>("files").files!;
  const files = new Map(Array.from(picked, (file) => [file.name, file] as const));
  const request = {
    text: element<HTMLTextAreaElement>("text").value,
    seed: element<HTMLInputElement>("seed").valueAsNumber,
    device: element<HTMLSelectElement>("device").value as DeviceChoice,
  };
  try {
    const started = performance.now();
    const evaluation = await evaluateText(files, request);
    const seconds = (performance.now() - started) / 1000;
    say(`${evaluation.tokens.length} tokens in ${seconds.toFixed(2)} s on ${evaluation.device}`);
    result.replaceChildren(tableOf(evaluation));
  } catch (error) {
    const hint = error instanceof EngramError && error.hint ? `\n${error.hint}` : "";
    say(`${(error as Error).message}${hint}`, true);
  }
});

function say(text: string, failed = false): void {
  status.textContent = text;
  status.className = failed ? "error" : "";
}

function tableOf({ layerIds, tokens }: Evaluation): HTMLTableElement {
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  const titles = layerIds.flatMap((id) => [`layer ${id}: gate`, "first row"]);
  for (const title of ["token", "text", "compressed id", ...titles]) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = title;
    head.append(cell);
  }
  const body = table.createTBody();
  tokens.forEach(({ text, compressedId, rows, gates }, index) => {
    const row = body.insertRow();
    const add = (content: string | number) => {
      const cell = row.insertCell();
      cell.textContent = String(content);
      return cell;
    };
    add(index);
    add(JSON.stringify(text));
    add(compressedId);
    layerIds.forEach((_, layer) => {
      const mean = gates[layer].reduce((sum, gate) => sum + gate, 0) / gates[layer].length;
      const cell = add(mean.toFixed(4));
      cell.style.background = `rgb(var(--gate) / ${mean * 60}%)`;
      cell.title = gates[layer].map((gate) => gate.toFixed(4)).join(", ");
      add(rows[layer][0]);
    });
  });
  return table;
}
