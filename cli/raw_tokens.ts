import { EngramError } from "../lib/errors.ts";
import type { Tokenizer } from "../lib/tokenizer/tokenizer.ts";
import type { Context } from "./command.ts";
import { type TextFile, textFiles } from "./text_files.ts";
import type { TokenOptions } from "./token_options.ts";

/** Token ids as they are read, before any check against a map. */
export interface RawChunk {
  readonly tokenIds: Int32Array;
  /** 1 where the file itself says that the token takes no part. */
  readonly dead?: Uint8Array;
  readonly requestStart: boolean;
  readonly request: string;
}

/** Where token ids come from. */
export interface RawTokens {
  read(): AsyncGenerator<RawChunk>;
}

/** Texts up to this size are tokenized whole, several at once. */
const SMALL_TEXT = 256 * 1024;

/** Opens the texts or ids that `options` name; `tokenizer` is there where they are texts. */
export async function rawTokens(
  options: TokenOptions,
  tokenizer: Tokenizer | null,
  context: Pick<Context, "signal" | "progress">,
): Promise<RawTokens> {
  if (options.ids !== undefined) return await fromIds(options.ids);
  const files = await textFiles(options.text!);
  return { read: () => fromTexts(files, tokenizer!, context) };
}

async function* fromTexts(
  files: readonly TextFile[],
  tokenizer: Tokenizer,
  { progress, signal }: Pick<Context, "signal" | "progress">,
): AsyncGenerator<RawChunk> {
  const { encodeStream } = await import("../lib/tokenizer/encode_stream.ts");
  const known = files.every((file) => file.size !== null);
  const total = known ? files.reduce((sum, file) => sum + file.size!, 0) : 0;
  const bar = known ? progress("Tokenizing", total, "bytes") : null;
  const encode = (file: TextFile) =>
    encodeStream(tokenizer, counted(file.open(), signal, bar?.advance), { name: file.name });

  // Small texts ahead of the one being used are at work already, as many as there are cores.
  const ahead = new Map<TextFile, Promise<Int32Array[]>>();
  const small = files.filter((file) => file.size !== null && file.size <= SMALL_TEXT).values();
  const startNext = () => {
    const { value: file, done } = small.next();
    if (done) return;
    const work = Array.fromAsync(encode(file));
    // A failure is met where the text is used; until then it must not count as unhandled.
    work.catch(() => {});
    ahead.set(file, work);
  };
  for (let i = 0; i < navigator.hardwareConcurrency; i++) startNext();
  try {
    for (const file of files) {
      const request = file.name;
      yield { tokenIds: new Int32Array(0), requestStart: true, request };
      const work = ahead.get(file);
      if (work) {
        startNext();
        ahead.delete(file);
      }
      for await (const tokenIds of work ? await work : encode(file)) {
        yield { tokenIds, requestStart: false, request };
      }
    }
  } finally {
    await Promise.allSettled(ahead.values());
    bar?.stop();
  }
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  advance?: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    if (signal.aborted) throw new EngramError("interrupted", "Interrupted");
    advance?.(chunk.length);
    yield chunk;
  }
}

async function fromIds(path: string): Promise<RawTokens> {
  const { openIds } = await import("../lib/arrays/open_ids.ts");
  const source = await openIds(path);
  return {
    async *read() {
      let requestStart = true;
      for await (const { ids, dead } of source.chunks()) {
        yield { tokenIds: ids, ...(dead && { dead }), requestStart, request: path };
        requestStart = false;
      }
      if (requestStart) yield { tokenIds: new Int32Array(0), requestStart, request: path };
    },
  };
}
