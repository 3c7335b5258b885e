import type { ByteSource } from "../bytes/byte_source.ts";
import { EngramError } from "../errors.ts";
import { idOf } from "./id_check.ts";
import { CHUNK_IDS, type IdChunk, type IdSource } from "./id_source.ts";

/** Bytes of a read: fewer would cost mostly calls. */
const READ_BYTES = 2 ** 16;

/** No number of a token id is longer, however it is written. */
const MAX_LITERAL = 40;

/** Token ids of an open text file: JSON arrays, or integers between white space and commas. */
export function idsOfText(source: ByteSource): IdSource {
  return {
    name: source.name,
    async *chunks() {
      const scanner = new IdScanner(source.name);
      for (let at = 0; at < source.size; at += READ_BYTES) {
        const bytes = new Uint8Array(Math.min(READ_BYTES, source.size - at));
        await source.read(bytes, at);
        yield* scanner.push(bytes);
      }
      yield* scanner.end();
      source.checkUnchanged();
    },
    close: () => source.close(),
  };
}

/**
 * Reads ids from text that comes in pieces. An array is a request of its own, unless it holds
 * arrays, which then are; so a file of one array a line, or a list of arrays, is many requests.
 * Numbers outside any array are together one request.
 */
class IdScanner {
  readonly #name: string;
  #offset = 0;
  #literal = "";
  #depth = 0;
  /** What came last at this place: decides whether a comma, number or bracket may follow. */
  #last: "start" | "open" | "comma" | "value" = "start";
  /** Depth at which numbers were found first: 0 for plain integers. */
  #numberDepth: number | undefined;
  #ids: number[] = [];
  #position = 0;
  /** Whether the request that ids now belong to has had its first chunk. */
  #begun = false;
  #any = false;

  constructor(name: string) {
    this.#name = name;
  }

  *push(bytes: Uint8Array): Generator<IdChunk> {
    for (const byte of bytes) {
      const char = String.fromCharCode(byte);
      if (NUMBER.includes(char)) {
        if (this.#literal === "" && this.#last === "value" && this.#depth > 0) {
          this.#fail(`"${char}"`, "a comma between numbers");
        }
        this.#literal += char;
        if (this.#literal.length > MAX_LITERAL) this.#fail(`"${this.#literal}…"`, "a token id");
      } else {
        this.#number();
        if (char === "[") this.#open();
        else if (char === "]") yield* this.#close();
        else if (char === ",") this.#comma();
        else if (!WHITE_SPACE.includes(char)) {
          const shown = char === '"'
            ? "a quotation mark"
            : byte > 0x20 && byte < 0x7f
            ? `"${char}"`
            : `byte ${byte}`;
          this.#fail(shown, "integers, as JSON arrays or plain");
        }
      }
      this.#offset++;
      if (this.#ids.length >= CHUNK_IDS) yield this.#chunk();
    }
  }

  *end(): Generator<IdChunk> {
    this.#number();
    if (this.#depth > 0) this.#fail("the end of the file", '"]"');
    if (this.#ids.length > 0 || !this.#any) yield this.#chunk();
  }

  #number(): void {
    if (this.#literal === "") return;
    const literal = this.#literal;
    this.#literal = "";
    const value = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(literal) ? Number(literal) : NaN;
    if (Number.isNaN(value)) this.#fail(`"${literal}"`, "a number");
    this.#numberDepth ??= this.#depth;
    if (this.#numberDepth !== this.#depth) {
      this.#fail(`"${literal}" beside an array`, "numbers all at one depth");
    }
    this.#ids.push(idOf(value, this.#position++, this.#name));
    this.#last = "value";
  }

  #open(): void {
    const follows = this.#depth === 0 ? this.#numberDepth !== 0 : this.#last !== "value";
    if (!follows || this.#depth === 2) this.#fail('"["', "a number, a comma or an end");
    this.#depth++;
    this.#last = "open";
  }

  *#close(): Generator<IdChunk> {
    if (this.#depth === 0 || this.#last === "comma") this.#fail('"]"', "a number");
    // An outer array ends nothing; an empty array outside others is an empty request.
    const request = this.#numberDepth === undefined
      ? this.#last === "open"
      : this.#depth === this.#numberDepth;
    this.#depth--;
    this.#last = "value";
    if (!request) return;
    if (this.#ids.length > 0 || !this.#begun) yield this.#chunk();
    this.#begun = false;
    this.#position = 0;
  }

  #comma(): void {
    if (this.#last !== "value") this.#fail('","', "a number before it");
    this.#last = "comma";
  }

  #chunk(): IdChunk {
    const chunk = { ids: Int32Array.from(this.#ids), requestStart: !this.#begun };
    this.#ids = [];
    this.#begun = true;
    this.#any = true;
    return chunk;
  }

  #fail(found: string, wanted: string): never {
    throw new EngramError(
      "malformed",
      `Cannot read token ids of \`${this.#name}\`: found ${found} at byte ${this.#offset}, ` +
        `wanted ${wanted}`,
      { where: this.#name },
    );
  }
}

const NUMBER = "0123456789+-.eE";
const WHITE_SPACE = " \t\r\n";
