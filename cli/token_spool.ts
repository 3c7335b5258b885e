import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { EngramError } from "../lib/errors.ts";
import type { TokenChunk } from "./token_input.ts";

/** Tokens read back: several requests may begin in one piece. */
export interface SpooledTokens {
  readonly tokenIds: Int32Array;
  readonly dead: Uint8Array;
  /** Indices of the tokens that begin a request, ascending; repeated where one has no tokens. */
  readonly starts: number[];
}

/**
 * Tokens on disk, four bytes each, until their number is known: an output's size has to be stated
 * in its header, while a text's tokens are counted only by tokenizing it.
 *
 * The file loses its name at once, so that however the program ends it leaves nothing behind.
 */
export class TokenSpool implements Disposable {
  readonly #file: number;
  readonly #path: string;
  readonly #starts: number[] = [];
  #tokens = 0;
  #dead = 0;

  /** Begins a spool in the folder of `output`, where room for the larger output is needed anyway. */
  constructor(output: string) {
    this.#path = join(dirname(output), `.${basename(output)}.${crypto.randomUUID()}.tokens`);
    try {
      this.#file = fs.openSync(this.#path, "wx+", 0o600);
      fs.unlinkSync(this.#path);
    } catch (cause) {
      throw new EngramError(
        "unavailable",
        `Cannot create \`${output}\`: ${(cause as Error).message}`,
        { where: output, cause },
      );
    }
  }

  /** Tokens so far. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Dead tokens so far. */
  get dead(): number {
    return this.#dead;
  }

  /** The first token of each request. */
  get starts(): readonly number[] {
    return this.#starts;
  }

  /** Takes the next tokens. */
  append({ tokenIds, dead, requestStart }: TokenChunk): void {
    if (requestStart) this.#starts.push(this.#tokens);
    // A dead token is kept as the complement of its id: negative, and none of its bits lost.
    const marked = tokenIds.map((id, i) => (dead[i] ? ~id : id));
    const bytes = new Uint8Array(marked.buffer);
    try {
      for (let done = 0; done < bytes.length;) {
        done += fs.writeSync(this.#file, bytes, done, bytes.length - done);
      }
    } catch (cause) {
      throw new EngramError(
        "unavailable",
        `Cannot write beside the output: ${(cause as Error).message}`,
        { where: dirname(this.#path), hint: "Free some space, or write to another disk", cause },
      );
    }
    this.#tokens += tokenIds.length;
    for (const flag of dead) this.#dead += flag;
  }

  /** Reads all tokens in pieces of at most `most`; an empty spool gives no pieces. */
  *read(most: number): Generator<SpooledTokens> {
    let request = 0;
    for (let at = 0; at < this.#tokens; at += most) {
      const tokenIds = new Int32Array(Math.min(most, this.#tokens - at));
      const bytes = new Uint8Array(tokenIds.buffer);
      for (let done = 0; done < bytes.length;) {
        const count = fs.readSync(this.#file, bytes, done, bytes.length - done, 4 * at + done);
        if (count === 0) throw new EngramError("unavailable", "Cannot read spooled tokens back");
        done += count;
      }
      const dead = new Uint8Array(tokenIds.length);
      tokenIds.forEach((id, i) => {
        if (id >= 0) return;
        dead[i] = 1;
        tokenIds[i] = ~id;
      });
      const starts: number[] = [];
      for (; this.#starts[request] < at + tokenIds.length; request++) {
        starts.push(this.#starts[request] - at);
      }
      yield { tokenIds, dead, starts };
    }
  }

  /** Gives the disk space back. */
  [Symbol.dispose](): void {
    fs.closeSync(this.#file);
  }
}
