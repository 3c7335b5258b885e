import stringWidth from "string-width";

/** Where a {@linkcode Printer} writes. Both calls take whole text and write it at once. */
export interface Streams {
  /** Data. */
  out(text: string): void;
  /** Everything else. */
  err(text: string): void;
  /** Whether standard error is a terminal: progress bars and colour. */
  readonly terminal: boolean;
  /** Whether standard output is a terminal: colour in tables. */
  readonly outTerminal: boolean;
}

/** Owns both streams of a command: data on stdout, all else on stderr. Nothing else prints. */
export class Printer {
  /** Whether exactly one JSON value is wanted on stdout. */
  json = false;
  /** Whether notes are left out. */
  quiet = false;
  readonly #streams: Streams;

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  /** Whether progress bars may be drawn. */
  get showsProgress(): boolean {
    return this.#streams.terminal && !this.json && !this.quiet;
  }

  /** The command's result: one JSON value with --json, else what `render` returns. */
  result(value: unknown, render: () => string): void {
    this.#streams.out(this.json ? toJson(value) + "\n" : withNewline(render()));
  }

  /** A line of plain data on stdout, for commands whose output is text either way. */
  data(text: string): void {
    this.#streams.out(withNewline(text));
  }

  /** A remark on stderr. */
  note(text: string): void {
    if (!this.quiet) this.#streams.err(withNewline(printableLines(text)));
  }

  /** A warning on stderr; shown even when quiet. */
  warn(text: string): void {
    this.#streams.err(withNewline(`${this.#paint("33", "warning:")} ${printableLines(text)}`));
  }

  /** Raw text on stderr (errors, help, progress). */
  err(text: string): void {
    this.#streams.err(text);
  }

  /** A word in bold red on a terminal that takes colour. */
  red(text: string): string {
    return this.#paint("1;31", text);
  }

  #paint(code: string, text: string): string {
    const colour = this.#streams.terminal && !Deno.noColor;
    return colour ? `\x1b[${code}m${text}\x1b[0m` : text;
  }
}

/** One JSON value on one line; bigints become decimal strings, Maps objects. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, item) => {
    if (typeof item === "bigint") return item.toString();
    if (item instanceof Map) return Object.fromEntries(item);
    if (ArrayBuffer.isView(item)) return Array.from(item as unknown as ArrayLike<number>);
    return item;
  });
}

/** A table without colours or frames; columns whose cells are all numbers are set to the right. */
export function table(head: string[], rows: (string | number | bigint)[][]): string {
  const cells = rows.map((row) => row.map((cell) => printable(String(cell))));
  const columns = head.map((title, i) => {
    let width = widthOf(title);
    let numeric = true;
    for (const row of cells) {
      width = Math.max(width, widthOf(row[i]));
      numeric &&= NUMERIC.test(row[i]);
    }
    return { width, numeric };
  });
  const line = (row: string[]) =>
    row.map((cell, i) => {
      const gap = " ".repeat(columns[i].width - widthOf(cell));
      return columns[i].numeric ? gap + cell : cell + gap;
    }).join("  ").trimEnd();
  return [head, ...cells].map(line).join("\n");
}

/** Columns of a terminal that `text` takes; most of it is ASCII. */
function widthOf(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);
}

/**
 * Text from files as it may be shown: control characters, which could move the cursor or colour
 * the terminal, and marks that turn the direction of writing become escapes.
 */
export function printable(text: string): string {
  return text.replaceAll(
    // deno-lint-ignore no-control-regex -- control characters are what is looked for
    /[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A number with or without a unit, or a mark that stands for one that is not there. */
const NUMERIC = /^([-–]?\d[\d., ]*( ?[A-Za-zµ/%]+)?|[–?]?)$/;

/** {@linkcode printable} for text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

function withNewline(text: string): string {
  return text.endsWith("\n") ? text : text + "\n";
}
