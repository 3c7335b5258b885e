import { HeaderFault } from "./header_fault.ts";

/** Containers inside each other, at most; the reference library's parser stops there too. */
const MOST_NESTED = 127;

/**
 * Reads JSON text piece by piece, by the grammar of RFC 8259 and nothing beyond it.
 * `JSON.parse` cannot serve for headers: it hides duplicate keys, takes `4.0` for `4`, rounds
 * integers past 2^53, lets lone surrogates through and has no limit on nesting.
 */
export class JsonReader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  /** Begins at the start of `text`. */
  constructor(text: string) {
    this.#text = text;
  }

  /** The next character that is not white space, not consumed; empty at the end. */
  peek(): string {
    const text = this.#text;
    for (;; this.#at++) {
      const code = text.charCodeAt(this.#at);
      if (code !== SPACE && code !== NEWLINE && code !== RETURN && code !== TAB) break;
    }
    return text.charAt(this.#at);
  }

  /** Reads an object; `member` is called after each key and must read its value. */
  object(what: string, member: (key: string) => void): void {
    this.#container(what, "{", "}", () => {
      if (this.peek() !== '"') this.fail(this.found(), `a key of ${what} in double quotes`);
      const key = this.string("a key");
      if (this.peek() !== ":") this.fail(this.found(), `":" after a key of ${what}`);
      this.#at++;
      member(key);
    });
  }

  /** Reads an array; `item` is called at each value and must read it. */
  array(what: string, item: () => void): void {
    this.#container(what, "[", "]", item);
  }

  /** Reads `null` if it comes next. */
  null(): boolean {
    return this.peek() === "n" && this.#word("null");
  }

  /** Reads a plain non-negative integer up to 2^53 - 1: no sign, no fraction, no exponent. */
  count(what: string): number {
    const first = this.peek();
    const start = this.#at;
    const wanted = `plain non-negative integers in ${what}`;
    if (first !== "-" && !(first >= "0" && first <= "9")) this.fail(this.found(), wanted);
    this.#number();
    const literal = this.#text.slice(start, this.#at);
    for (let i = 0; i < literal.length; i++) {
      const code = literal.charCodeAt(i);
      if (code < ZERO || code > NINE) {
        this.fail(`the number ${shorten(literal)}`, wanted, start);
      }
    }
    const value = Number(literal);
    if (Number.isSafeInteger(value)) return value;
    return this.fail(`the number ${shorten(literal)}`, `${what} below 2^53`, start);
  }

  /** Reads a string and undoes its escapes. */
  string(what: string): string {
    if (this.peek() !== '"') this.fail(this.found(), `${what} to be a string`);
    const text = this.#text;
    let from = ++this.#at;
    let value = "";
    while (true) {
      const code = text.charCodeAt(this.#at);
      if (code === QUOTE) {
        value += text.slice(from, this.#at++);
        return value;
      }
      if (code === BACKSLASH) {
        value += text.slice(from, this.#at) + this.#escape();
        from = this.#at;
      } else if (code >= SPACE) this.#at++;
      else if (Number.isNaN(code)) this.fail("the end of the header", "the end of a string");
      else this.fail(this.found(), "no control character in a string");
    }
  }

  /** Reads any value and drops it. */
  skip(): void {
    switch (this.peek()) {
      case "{":
        return this.object("an object", () => this.skip());
      case "[":
        return this.array("an array", () => this.skip());
      case '"':
        return void this.string("a value");
      case "t":
        return void this.#word("true");
      case "f":
        return void this.#word("false");
      case "n":
        return void this.#word("null");
      default:
        return this.#number();
    }
  }

  /** Makes sure that nothing but white space is left. */
  end(): void {
    if (this.peek() !== "") this.fail(this.found(), "nothing but spaces after the closing brace");
  }

  /** What stands at the next character, in words. */
  found(): string {
    const next = this.peek();
    if (next === "") return "the end of the header";
    if (next === '"') return "a string";
    const code = this.#text.codePointAt(this.#at) as number;
    if (code === 0) return "a NUL byte";
    if (code === 0xfeff) return "a byte order mark";
    const shown = code < SPACE || code === 0x7f;
    return shown
      ? `the character U+${code.toString(16).toUpperCase().padStart(4, "0")}`
      : `"${String.fromCodePoint(code)}"`;
  }

  /** Ends the reading with what was found where, and what was wanted. */
  fail(found: string, wanted: string, at: number = this.#at): never {
    throw new HeaderFault(`found ${found} at character ${at}, wanted ${wanted}`);
  }

  #container(what: string, open: string, close: string, item: () => void): void {
    if (this.peek() !== open) {
      const kind = open === "{" ? "an object" : "an array";
      this.fail(this.found(), what === kind ? what : `${what} to be ${kind}`);
    }
    if (++this.#depth > MOST_NESTED) {
      this.fail("one more level of nesting", `at most ${MOST_NESTED} levels`);
    }
    this.#at++;
    if (this.peek() !== close) {
      while (true) {
        item();
        const next = this.peek();
        if (next === close) break;
        if (next !== ",") this.fail(this.found(), `"," or "${close}" in ${what}`);
        this.#at++;
      }
    }
    this.#at++;
    this.#depth--;
  }

  #word(word: string): true {
    if (!this.#text.startsWith(word, this.#at)) this.fail(this.found(), "a JSON value");
    this.#at += word.length;
    return true;
  }

  #number(): void {
    NUMBER.lastIndex = this.#at;
    const literal = NUMBER.exec(this.#text)?.[0];
    if (literal === undefined) this.fail(this.found(), "a JSON value");
    if (!Number.isFinite(Number(literal))) {
      this.fail(`the number ${shorten(literal)}`, "one that fits a float64");
    }
    const after = this.#text.charCodeAt(this.#at + literal.length);
    if (after >= ZERO && after <= NINE) {
      this.fail(`a number that starts with ${literal}`, "no zeros in front of a number");
    }
    this.#at += literal.length;
  }

  #escape(): string {
    const start = this.#at;
    const kind = this.#text.charAt(start + 1);
    const simple = ESCAPES[kind];
    if (simple !== undefined) {
      this.#at += 2;
      return simple;
    }
    if (kind !== "u") this.fail(`the escape "\\${kind}"`, "an escape of JSON", start);
    const unit = this.#unit();
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
    const pair = unit < 0xdc00 && this.#text.startsWith("\\u", this.#at) ? this.#unit() : 0;
    if (pair < 0xdc00 || pair > 0xdfff) {
      this.fail("half of a surrogate pair", "both halves or none", start);
    }
    return String.fromCharCode(unit, pair);
  }

  /** Reads `\uXXXX`. */
  #unit(): number {
    const digits = this.#text.slice(this.#at + 2, this.#at + 6);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) {
      this.fail(`the escape "\\u${digits}"`, "four hexadecimal digits after \\u");
    }
    this.#at += 6;
    return parseInt(digits, 16);
  }
}

const SPACE = 0x20, NEWLINE = 0x0a, RETURN = 0x0d, TAB = 0x09, QUOTE = 0x22, BACKSLASH = 0x5c;
const ZERO = 0x30, NINE = 0x39;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPES: Readonly<Record<string, string>> = {
  __proto__: null as unknown as string,
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

function shorten(literal: string): string {
  return literal.length <= 40 ? literal : `${literal.slice(0, 40)}… (${literal.length} digits)`;
}
