import { breathe } from "../lib/bytes/breathe.ts";
import { EngramError } from "../lib/errors.ts";
import type { Tokenizer } from "../lib/tokenizer/tokenizer.ts";
import type { Context } from "./command.ts";
import { type Part, partOfSizes } from "./part.ts";
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
  /** Begins the tokens; texts need their tokenizer. */
  read(tokenizer: Tokenizer | null): AsyncGenerator<RawChunk>;
  /** Tokens of the first request just before those that are read, where only a part is. */
  readonly lead: RawChunk | null;
  /** Where the first token read stands: the number of its request, and its position there. */
  readonly origin: { readonly request: number; readonly position: number };
  /** Closes what is open; reading to the end or breaking off does so as well. */
  close(): void;
}

/** Texts up to this size are tokenized whole, several at once. */
const SMALL_TEXT = 256 * 1024;

/**
 * Opens the texts or ids that `options` name. Of a part that begins within a request, `depth` tokens
 * before it are given as well.
 */
export async function rawTokens(
  options: TokenOptions,
  depth: number,
  context: Pick<Context, "signal" | "progress">,
): Promise<RawTokens> {
  if (options.ids !== undefined) return await fromIds(options.ids, options.part, depth);
  const files = await textFiles(options.text!);
  const [begin, end] = options.part ? rangeOfPart(files, options.part) : [0, files.length];
  return {
    lead: null,
    origin: { request: begin, position: 0 },
    read: (tokenizer) => fromTexts(files.slice(begin, end), tokenizer!, options, context),
    close() {},
  };
}

/** Texts are dealt out whole, so that each is tokenized once. */
function rangeOfPart(files: readonly TextFile[], part: Part): [begin: number, end: number] {
  const sizes = files.map(({ name, size }) => {
    if (size !== null) return size;
    throw new EngramError("usage", `Cannot take a part of ${name}: its size is not known`, {
      where: "--part",
      hint: "Write it to a file first",
    });
  });
  return partOfSizes(sizes, part);
}

async function* fromTexts(
  files: readonly TextFile[],
  tokenizer: Tokenizer,
  { specialTokens = true }: TokenOptions,
  { progress, signal }: Pick<Context, "signal" | "progress">,
): AsyncGenerator<RawChunk> {
  const { encodeStream } = await import("../lib/tokenizer/encode_stream.ts");
  const known = files.every((file) => file.size !== null);
  const total = known ? files.reduce((sum, file) => sum + file.size!, 0) : 0;
  const bar = known ? progress("Tokenizing", total, "bytes") : null;
  const encode = (file: TextFile) =>
    encodeStream(tokenizer, counted(file.open(), signal, bar?.advance), {
      name: file.name,
      specialTokens,
    });

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
    await breathe(signal);
    advance?.(chunk.length);
    yield chunk;
  }
}

async function fromIds(path: string, part: Part | undefined, depth: number): Promise<RawTokens> {
  const { openIds } = await import("../lib/arrays/open_ids.ts");
  const source = await openIds(path);
  if (part) {
    const { partOfIds } = await import("./ids_part.ts");
    try {
      return await partOfIds(source, part, depth);
    } catch (error) {
      source.close();
      throw error;
    }
  }
  return {
    lead: null,
    origin: { request: 0, position: 0 },
    async *read() {
      try {
        for await (const { ids, ...rest } of source.chunks()) {
          yield { tokenIds: ids, ...rest, request: path };
        }
      } finally {
        source.close();
      }
    },
    close: () => source.close(),
  };
}
