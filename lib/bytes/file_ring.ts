import { EngramError } from "../errors.ts";
import type { Pieces } from "./byte_source.ts";

/** Pieces asked for with one call: enough that the call costs nothing, and that a disk is kept busy. */
const ENTRIES = 512;

/** Calls that may go by without any piece arriving before something is held to be wrong. */
const MOST_IDLE_CALLS = 1000;

/** Numbers of the system calls, the same on all processors. */
const SETUP = 425n, ENTER = 426n, REGISTER = 427n;
const REGISTER_FILES = 2, REGISTER_PROBE = 8;
/** Only this thread submits, and completions are worked off when it waits: Linux 6.1. */
const SINGLE_ISSUER = 1 << 12, DEFER_TASKRUN = 1 << 13;
const GET_EVENTS = 1;
const READ = 22, FIXED_FILE = 1;
/** Operations that there is room for when asking what there are. */
const PROBED = 64;
const PROT_READ_WRITE = 3, MAP_SHARED_POPULATE = 0x8001;
const SQ_RING = 0n, CQ_RING = 0x8000000n, ENTRIES_AT = 0x10000000n;
/** Bytes of an entry to be submitted, and of one that is completed. */
const ENTRY_BYTES = 64, DONE_BYTES = 16;

const SYMBOLS = {
  setup: { name: "syscall", parameters: ["i64", "u32", "buffer"], result: "i64" },
  enter: {
    name: "syscall",
    parameters: ["i64", "i32", "u32", "u32", "u32", "pointer", "usize"],
    result: "i64",
  },
  register: { name: "syscall", parameters: ["i64", "i32", "u32", "buffer", "u32"], result: "i64" },
  mmap: { parameters: ["usize", "usize", "i32", "i32", "i32", "i64"], result: "pointer" },
  munmap: { parameters: ["pointer", "usize"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
} as const;

type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

interface Mapping {
  readonly at: Deno.PointerObject;
  readonly bytes: number;
}

/**
 * Reads many pieces of a file with one system call, as Linux's io_uring lets: cheaper than a call a
 * piece from the page cache, and a disk is asked for hundreds at once without any threads.
 */
export class FileRing {
  readonly #libc: Libc;
  readonly #ring: number;
  readonly #mappings: readonly Mapping[];
  readonly #submitted: Ring;
  readonly #done: Ring;
  readonly #entries: Uint32Array;
  readonly #results: Int32Array;

  /** See {@linkcode FileRing.open}. */
  constructor(libc: Libc, ring: number, mappings: readonly Mapping[], params: Uint32Array) {
    this.#libc = libc;
    this.#ring = ring;
    this.#mappings = mappings;
    const [first, second, entries] = mappings.map(wordsOf);
    this.#submitted = {
      words: first,
      tail: params[11] / 4,
      head: params[10] / 4,
      mask: params[0] - 1,
    };
    this.#done = { words: second, tail: params[21] / 4, head: params[20] / 4, mask: params[1] - 1 };
    this.#entries = entries;
    this.#results = new Int32Array(second.buffer, params[25]);
    for (let i = 0; i < params[0]; i++) {
      // The order of submission is that of the entries, of which only offsets and addresses change.
      first[params[16] / 4 + i] = i;
      new DataView(entries.buffer).setUint16(i * ENTRY_BYTES, READ | FIXED_FILE << 8, true);
    }
  }

  /**
   * A ring for an open file; null where there is none to be had: not Linux, an older one, forbidden,
   * or no `--allow-ffi`.
   */
  static open(file: number): FileRing | null {
    if (Deno.build.os !== "linux") return null;
    if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return null;
    let libc: Libc;
    try {
      libc = Deno.dlopen("libc.so.6", SYMBOLS);
    } catch {
      return null;
    }
    const ring = openRing(libc, file);
    if (!ring) libc.close();
    return ring;
  }

  /**
   * Fills pieces of `into`; returns the indexes of those that did not come whole, to be read again
   * another way: at the file's end, or after an error.
   */
  read(into: Uint8Array, { offsets, places, count, bytes }: Pieces): number[] {
    const failed: number[] = [];
    const base = addressOf(into);
    for (let first = 0; first < count; first += ENTRIES) {
      const end = Math.min(first + ENTRIES, count);
      this.#submit(base, offsets, places, bytes, first, end);
      this.#collect(failed, bytes, end - first);
    }
    return failed;
  }

  #submit(
    base: number,
    offsets: Float64Array,
    places: Float64Array,
    bytes: number,
    first: number,
    end: number,
  ): void {
    const entries = this.#entries;
    const { words, tail, mask } = this.#submitted;
    const start = words[tail];
    for (let i = first; i < end; i++) {
      const at = ((start + i - first) & mask) * (ENTRY_BYTES / 4);
      const offset = offsets[i];
      const address = base + places[i];
      entries[at + 2] = offset;
      entries[at + 3] = offset / 2 ** 32;
      entries[at + 4] = address;
      entries[at + 5] = address / 2 ** 32;
      entries[at + 6] = bytes;
      entries[at + 8] = i;
    }
    Atomics.store(words, tail, start + end - first);
  }

  /** Waits for all that were submitted: until then the system writes into the caller's memory. */
  #collect(failed: number[], bytes: number, count: number): void {
    const { words, head, tail, mask } = this.#done;
    for (let left = count, idle = 0; left > 0; idle++) {
      const { head: taken, tail: given } = this.#submitted;
      const waiting = this.#submitted.words[given] - Atomics.load(this.#submitted.words, taken);
      this.#libc.symbols.enter(ENTER, this.#ring, waiting >>> 0, left, GET_EVENTS, null, 0n);
      let from = words[head];
      for (const to = Atomics.load(words, tail); from !== to; from = (from + 1) >>> 0, left--) {
        const at = (from & mask) * (DONE_BYTES / 4);
        if (this.#results[at + 2] !== bytes) failed.push(this.#results[at]);
        idle = 0;
      }
      Atomics.store(words, head, from);
      if (idle > MOST_IDLE_CALLS) {
        throw new EngramError(
          "unavailable",
          "Cannot read files: the system's io_uring does not answer",
          {
            hint: "Run without --allow-ffi: files are then read another way",
          },
        );
      }
    }
  }

  /** Gives back what the ring holds. */
  close(): void {
    closeRing(this.#libc, this.#ring, this.#mappings);
    this.#libc.close();
  }
}

/** Indexes of a ring in the memory shared with the system. */
interface Ring {
  readonly words: Uint32Array;
  readonly head: number;
  readonly tail: number;
  readonly mask: number;
}

function openRing(libc: Libc, file: number): FileRing | null {
  const { setup, register, mmap } = libc.symbols;
  // The struct io_uring_params, in words: entries of both rings, flags; offsets from 10 and 20 on.
  const params = new Uint32Array(30);
  let ring = -1;
  for (const flags of [SINGLE_ISSUER | DEFER_TASKRUN, 0]) {
    params.fill(0);
    params[2] = flags;
    ring = Number(setup(SETUP, ENTRIES, params));
    if (ring >= 0) break;
  }
  if (ring < 0) return null;
  const mappings: Mapping[] = [];
  const map = (offset: bigint, bytes: number) => {
    const at = mmap(0n, BigInt(bytes), PROT_READ_WRITE, MAP_SHARED_POPULATE, ring, offset);
    if (at === null || BigInt.asIntN(64, Deno.UnsafePointer.value(at)) === -1n) return false;
    mappings.push({ at, bytes });
    return true;
  };
  const mapped = map(SQ_RING, params[16] + params[0] * 4) &&
    map(CQ_RING, params[25] + params[1] * DONE_BYTES) &&
    map(ENTRIES_AT, params[0] * ENTRY_BYTES);
  // Reading by address came with asking what there is: the answer begins with the last operation.
  const probe = new Uint8Array(16 + 8 * PROBED);
  const reads = mapped && register(REGISTER, ring, REGISTER_PROBE, probe, PROBED) === 0n &&
    probe[0] >= READ;
  if (reads && register(REGISTER, ring, REGISTER_FILES, Int32Array.of(file), 1) === 0n) {
    return new FileRing(libc, ring, mappings, params);
  }
  closeRing(libc, ring, mappings);
  return null;
}

function closeRing(libc: Libc, ring: number, mappings: readonly Mapping[]): void {
  for (const { at, bytes } of mappings) libc.symbols.munmap(at, BigInt(bytes));
  libc.symbols.close(ring);
}

/** Asking for the buffer brings small arrays out of the engine's heap, where they would be moved about. */
function addressOf({ buffer, byteOffset }: Uint8Array): number {
  const whole = new Uint8Array(buffer) as BufferSource;
  return Number(Deno.UnsafePointer.value(Deno.UnsafePointer.of(whole))) + byteOffset;
}

function wordsOf({ at, bytes }: Mapping): Uint32Array<ArrayBuffer> {
  return new Uint32Array(Deno.UnsafePointerView.getArrayBuffer(at, bytes));
}
