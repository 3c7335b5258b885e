"use strict";
// Shows the text of an evaluation page by page. Its data stand in script elements: `about` as
// JSON, the rest as gzipped arrays. Nothing is fetched.

const PAGE = 1500;
const about = JSON.parse(document.getElementById("about").textContent);
const { tokens, layers, copies, columns, heads, texts } = about;
const element = (id) => document.getElementById(id);
const state = { page: 0, active: 0, layer: 0, copy: -1 };
let data;
let rows;

async function unpack(id, Type) {
  const text = atob(element(id).textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Type(await new Response(stream).arrayBuffer());
}

/** Text of a token as it is shown: control characters get a mark. */
function textOf(token) {
  const text = texts[data.words[token]];
  const marks = { "\t": "⇥\t", "\n": "↵\n", "\r": "␍" };
  return text === "" ? "∅" : text.replace(/\p{Cc}/gu, (char) => marks[char] ?? "␀");
}

/** Gate of a token in a layer: of one copy, or the mean over all for copy -1. */
function gateOf(token, layer, copy) {
  const at = (token * layers.length + layer) * copies;
  if (copy >= 0) return data.gates[at + copy] / 65535;
  let sum = 0;
  for (let i = 0; i < copies; i++) sum += data.gates[at + i];
  return sum / copies / 65535;
}

const isDead = (token) => (data.flags[token] & 1) === 1;
const isStart = (token) => (data.flags[token] & 2) === 2;

/** The tokens of the n-gram that ends at `token`; null where it does not reach back that far. */
function ngram(token, n) {
  for (let back = 0; back < n; back++) {
    if (token - back < 0 || isDead(token - back)) return null;
    if (isStart(token - back) && back < n - 1) return null;
  }
  return Array.from({ length: n }, (_, i) => token - n + 1 + i);
}

function showPage() {
  const first = state.page * PAGE;
  const end = Math.min(tokens, first + PAGE);
  const spans = [];
  for (let token = first; token < end; token++) {
    const span = document.createElement("span");
    span.id = `t${token}`;
    span.setAttribute("role", "option");
    span.textContent = textOf(token);
    spans.push(span);
  }
  element("text").replaceChildren(...spans);
  const pages = Math.max(1, Math.ceil(tokens / PAGE));
  element("where").textContent = `Page ${state.page + 1} of ${pages}: tokens ${first} to ${
    Math.max(first, end - 1)
  } of ${tokens}`;
  element("first").disabled = element("back").disabled = state.page === 0;
  element("next").disabled = element("last").disabled = state.page >= pages - 1;
  shade();
}

function shade() {
  for (const span of element("text").children) {
    const token = Number(span.id.slice(1));
    const gate = gateOf(token, state.layer, state.copy);
    const dead = isDead(token);
    span.className = (dead ? "dead " : "") + (isStart(token) && token > 0 ? "start" : "");
    span.style.background = dead ? "" : `rgb(var(--gate-rgb) / ${(gate * 75).toFixed(1)}%)`;
    span.setAttribute(
      "aria-label",
      `token ${token} ${JSON.stringify(texts[data.words[token]])}, ${
        dead ? "dead" : `gate ${gate.toFixed(3)}`
      }`,
    );
  }
}

async function activate(token, focus) {
  state.active = Math.max(0, Math.min(tokens - 1, token));
  const page = Math.floor(state.active / PAGE);
  if (page !== state.page || !element(`t${state.active}`)) {
    state.page = page;
    showPage();
  }
  for (const old of element("text").querySelectorAll(".active")) {
    old.classList.remove("active");
    old.removeAttribute("aria-selected");
  }
  const span = element(`t${state.active}`);
  if (!span) return;
  span.classList.add("active");
  span.setAttribute("aria-selected", "true");
  element("text").setAttribute("aria-activedescendant", span.id);
  element("jump").value = state.active;
  if (focus) span.scrollIntoView({ block: "nearest" });
  rows ??= unpack("rows", Int32Array);
  rows = await rows;
  if (state.active === Number(span.id.slice(1))) showDetails(state.active);
}

/** Columns of the shown layer that other tokens share with this one: token → number of columns. */
function sharing(token) {
  const width = layers.length * columns;
  const own = token * width + state.layer * columns;
  const found = new Map();
  for (let column = 0; column < columns; column++) {
    const row = rows[own + column];
    for (let at = state.layer * columns + column, other = 0; other < tokens; at += width, other++) {
      if (rows[at] === row && other !== token) found.set(other, (found.get(other) ?? 0) + 1);
    }
  }
  return found;
}

function showDetails(token) {
  const box = element("details");
  box.replaceChildren();
  const add = (tag, text, parent = box) => {
    const made = document.createElement(tag);
    made.textContent = text;
    parent.append(made);
    return made;
  };
  add("h3", `Token ${token}: ${JSON.stringify(texts[data.words[token]])}`);
  add(
    "p",
    `id ${data.ids[token]}, compressed ${data.compressed[token]}` +
      (isDead(token)
        ? "; dead: it takes no part in n-grams, and its stream passes unchanged"
        : "") +
      (isStart(token) ? "; begins a request" : ""),
  );
  gateTable(token, add);
  const shared = isDead(token) ? new Map() : sharing(token);
  ngramTable(token, add);
  for (const span of element("text").children) {
    span.classList.toggle("shares", shared.has(Number(span.id.slice(1))));
  }
  const others = [...shared.keys()].sort((a, b) => shared.get(b) - shared.get(a) || a - b);
  add(
    "p",
    others.length === 0
      ? `No other token shares a row with it in layer ${layers[state.layer]}.`
      : `${
        others.length === 1 ? "One other token shares" : `${others.length} other tokens share`
      } a row with it in layer ${layers[state.layer]} (columns shared):`,
  );
  const list = add("p", "");
  for (const other of others.slice(0, 40)) {
    const button = add(
      "button",
      `${other} ${JSON.stringify(texts[data.words[other]])} (${shared.get(other)})`,
      list,
    );
    button.type = "button";
    button.addEventListener("click", () => activate(other, true));
  }
  if (others.length > 40) add("p", `and ${others.length - 40} more`);
}

function gateTable(token, add) {
  const table = add("table", "");
  const head = add("tr", "", add("thead", "", table));
  for (const title of ["gate", "mean", ...Array.from({ length: copies }, (_, i) => `copy ${i}`)]) {
    add("th", title, head).scope = "col";
  }
  const body = add("tbody", "", table);
  layers.forEach((id, layer) => {
    const row = add("tr", "", body);
    add("th", `layer ${id}`, row).scope = "row";
    for (let copy = -1; copy < copies; copy++) {
      add("td", gateOf(token, layer, copy).toFixed(4), row).className = "number";
    }
  });
}

function ngramTable(token, add) {
  const table = add("table", "");
  const head = add("tr", "", add("thead", "", table));
  for (const title of ["n-gram", "compressed ids", `rows in layer ${layers[state.layer]}`]) {
    add("th", title, head).scope = "col";
  }
  const body = add("tbody", "", table);
  for (let n = 2; n <= columns / heads + 1; n++) {
    const parts = ngram(token, n);
    const row = add("tr", "", body);
    add(
      "td",
      parts
        ? parts.map(textOf).join("")
        : `${n}-gram reaches over the start or a dead token: padded`,
      row,
    );
    add("td", parts ? parts.map((part) => data.compressed[part]).join(" ") : "–", row);
    const first = (token * layers.length + state.layer) * columns + (n - 2) * heads;
    add("td", rows.slice(first, first + heads).join(" "), row).className = "mono";
  }
}

function listen() {
  const go = (page) => {
    state.page = page;
    showPage();
    activate(page * PAGE);
  };
  const last = () => Math.max(0, Math.ceil(tokens / PAGE) - 1);
  element("first").addEventListener("click", () => go(0));
  element("back").addEventListener("click", () => go(Math.max(0, state.page - 1)));
  element("next").addEventListener("click", () => go(Math.min(last(), state.page + 1)));
  element("last").addEventListener("click", () => go(last()));
  element("jump").addEventListener(
    "change",
    (event) => activate(event.target.valueAsNumber || 0, true),
  );
  element("layer").addEventListener("change", (event) => {
    state.layer = Number(event.target.value);
    shade();
    activate(state.active);
  });
  element("copy").addEventListener("change", (event) => {
    state.copy = Number(event.target.value);
    shade();
    activate(state.active);
  });
  const text = element("text");
  let hover;
  text.addEventListener("mouseover", (event) => {
    if (!event.target.id.startsWith("t") || event.target === text) return;
    clearTimeout(hover);
    hover = setTimeout(() => activate(Number(event.target.id.slice(1))), 60);
  });
  text.addEventListener("click", (event) => {
    if (event.target !== text) activate(Number(event.target.id.slice(1)));
  });
  const steps = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: 10,
    ArrowUp: -10,
    PageDown: PAGE,
    PageUp: -PAGE,
  };
  text.addEventListener("keydown", (event) => {
    const to = event.key === "Home"
      ? 0
      : event.key === "End"
      ? tokens - 1
      : event.key in steps
      ? state.active + steps[event.key]
      : null;
    if (to === null) return;
    event.preventDefault();
    activate(to, true);
  });
}

(async () => {
  const [words, ids, compressed, flags, gates] = await Promise.all([
    unpack("words", Int32Array),
    unpack("ids", Int32Array),
    unpack("compressed", Int32Array),
    unpack("flags", Uint8Array),
    unpack("gates", Uint16Array),
  ]);
  data = { words, ids, compressed, flags, gates };
  listen();
  showPage();
  if (tokens > 0) await activate(0);
  document.documentElement.dataset.ready = "yes";
})();
