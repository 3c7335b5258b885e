import { isSyncSource } from "../bytes/byte_source.ts";
import { type Answer, answerError } from "../workers/answer_tasks.ts";
import { fileStore } from "./file_store.ts";
import { MAX_PLANNED, planRows } from "./row_plan.ts";
import type { RowStore } from "./row_store.ts";
import type { ReadTask } from "./read_worker.ts";
import { type StoredLayer, tableParts } from "./table_parts.ts";

/** How a {@linkcode spreadStore} reads. */
export interface SpreadOptions {
  /** Threads; more than cores pays where a disk has to be waited for. */
  readonly workers: number;
  /** Rows asked for at once from which on they are spread; fewer are read sooner in this thread. */
  readonly least?: number;
}

/** A thread costs some milliseconds to reach; by then this many rows are read from the page cache. */
const LEAST_ROWS = 16_384;

/** Slots handed to a thread at once: small enough that all end together. */
const TASK_SLOTS = 4096;

/** Memory kept for the next batch: new pages cost a good part of what reading by threads gains. */
const MOST_KEPT = 2 ** 27;

/**
 * The rows of a checkpoint's own local files, read by several threads where many are asked for: a
 * disk answers many reads at once much faster than one after another. The threads start with the
 * first such batch and end when the store is closed.
 */
export function spreadStore(layer: StoredLayer, options: SpreadOptions): RowStore {
  return new SpreadStore(layer, options);
}

class SpreadStore implements RowStore {
  readonly encoding;
  readonly rows: number;
  readonly place: string;
  readonly #plain: RowStore;
  readonly #parts: ReadTask["parts"];
  readonly #unchanged: () => void;
  readonly #options: SpreadOptions;
  readonly #workers: Worker[] = [];
  #kept = new SharedArrayBuffer(0);
  /** Settled when the batch asked for last is read. */
  #turn: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(layer: StoredLayer, options: SpreadOptions) {
    this.#plain = fileStore(layer);
    this.encoding = layer.encoding;
    this.rows = layer.rows;
    this.place = this.#plain.place;
    const { recordBytes } = layer.encoding;
    const parts = tableParts(layer);
    let at = 0;
    this.#parts = parts.map(({ source, offset, bytes }) => {
      const identity = isSyncSource(source) ? source.identity : undefined;
      const place = { path: source.name, identity, recordBytes, at, offset, bytes };
      at += bytes;
      return place;
    });
    this.#unchanged = () => parts.forEach(({ source }) => source.checkUnchanged());
    this.#options = options;
  }

  async readRecords(ids: Int32Array | Float64Array, out: Uint8Array): Promise<void> {
    const { recordBytes } = this.encoding;
    const { least = LEAST_ROWS } = this.#options;
    if (ids.length < least || this.#closed || out.length !== ids.length * recordBytes) {
      return await this.#plain.readRecords(ids, out);
    }
    for (let first = 0; first < ids.length; first += MAX_PLANNED) {
      const end = Math.min(first + MAX_PLANNED, ids.length);
      const into = out.subarray(first * recordBytes, end * recordBytes);
      // One batch after another: a thread's answers say only that its last task is done.
      const turn = this.#turn.then(() => this.#read(ids.subarray(first, end), first, into));
      this.#turn = turn.catch(() => {});
      await turn;
    }
  }

  close(): void {
    this.#closed = true;
    for (const worker of this.#workers.splice(0)) worker.terminate();
    this.#plain.close();
  }

  async #read(ids: Int32Array | Float64Array, first: number, into: Uint8Array): Promise<void> {
    const plan = planRows(ids, this.rows, first);
    const { sorted: { byteLength: end }, places: { byteLength } } = plan;
    const buffer = this.#room(end + byteLength + into.length);
    const sorted = new Float64Array(buffer, 0, ids.length);
    const places = new Int32Array(buffer, end, ids.length);
    const out = new Uint8Array(buffer, end + byteLength, into.length);
    sorted.set(plan.sorted);
    places.set(plan.places);
    const common = { parts: this.#parts, sorted, places, out };
    const tasks: ReadTask[] = [];
    for (let from = 0; from < sorted.length;) {
      const last = runStart(sorted, from + TASK_SLOTS);
      tasks.push({ ...common, first: from, last });
      from = last;
    }
    this.#unchanged();
    await this.#spread(tasks);
    this.#unchanged();
    into.set(out);
  }

  /** Memory that threads share, of at least `bytes` bytes. */
  #room(bytes: number): SharedArrayBuffer {
    if (this.#kept.byteLength >= bytes) return this.#kept;
    const room = new SharedArrayBuffer(bytes);
    if (bytes <= MOST_KEPT) this.#kept = room;
    return room;
  }

  async #spread(tasks: readonly ReadTask[]): Promise<void> {
    const count = Math.min(this.#options.workers, tasks.length);
    while (this.#workers.length < count) {
      const module = new URL("./read_worker.ts", import.meta.url);
      this.#workers.push(new Worker(module, { type: "module" }));
    }
    const next = tasks.values();
    const work = this.#workers.slice(0, count).map(async (worker) => {
      for (const task of next) await ask(worker, task);
    });
    const failed = (await Promise.allSettled(work)).find(({ status }) => status === "rejected");
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }
}

/** The first slot from `slot` on that no earlier slot's row or its neighbour reaches into. */
function runStart(sorted: Float64Array, slot: number): number {
  while (slot < sorted.length && sorted[slot] <= sorted[slot - 1] + 1) slot++;
  return Math.min(slot, sorted.length);
}

function ask(worker: Worker, task: ReadTask): Promise<null> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<Answer<null>>) => {
      if ("error" in data) reject(answerError(data.error));
      else resolve(data.result);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
    worker.postMessage(task);
  });
}
