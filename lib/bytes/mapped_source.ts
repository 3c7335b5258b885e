import { closeSync, fstatSync, openSync } from "node:fs";
import { EngramError } from "../errors.ts";
import type { SyncByteSource } from "./byte_source.ts";
import { checkRange } from "./check_range.ts";
import { fileError } from "./file_error.ts";
import { copyAcross, type MemoryWindows, memoryWindows } from "./memory_windows.ts";

/** Pieces a mapping is looked at in: typed arrays over more than 4 GiB are not to be had everywhere. */
const WINDOW = 2 ** 30;

const PROT_READ = 1;
const MAP_SHARED = 1;
/** Rows lie anywhere, so that reading ahead of them would only fill the page cache. */
const MADV_RANDOM = 1;

const SYMBOLS = {
  mmap: { parameters: ["usize", "usize", "i32", "i32", "i32", "i64"], result: "pointer" },
  munmap: { parameters: ["pointer", "usize"], result: "i32" },
  madvise: { parameters: ["pointer", "usize", "i32"], result: "i32" },
} as const;

/**
 * Opens a file as a memory map: reads are copies from the page cache without a system call, about
 * many times as fast as {@linkcode openFile}'s. Needs `--allow-ffi`, on Linux or macOS.
 *
 * A file that is shortened while it is mapped cannot be read safely by any program; its size is
 * looked at by {@linkcode ByteSource.checkUnchanged}, before and after a batch of rows, but a file
 * shortened in between ends the process. Use {@linkcode openFile} where others write.
 *
 * @throws an {@linkcode EngramError} of kind `unavailable` where it cannot be mapped.
 */
export function mapFile(path: string): SyncByteSource {
  const libc = openLibc(path);
  let file: number | null = null;
  try {
    file = openSync(path, "r");
    const stat = fstatSync(file);
    if (!stat.isFile()) throw unavailable(path, "it is no regular file");
    const map = stat.size === 0 ? null : libc.symbols.mmap(
      0n,
      BigInt(stat.size),
      PROT_READ,
      MAP_SHARED,
      file,
      0n,
    );
    if (map === null && stat.size > 0 || isFailed(map)) throw unavailable(path, "mmap failed");
    if (map) libc.symbols.madvise(map, BigInt(stat.size), MADV_RANDOM);
    return new MappedSource(path, file, stat.size, stat.mtimeMs, map, libc);
  } catch (error) {
    if (file !== null) closeSync(file);
    libc.close();
    throw fileError("map", path, error);
  }
}

type Libc = Deno.DynamicLibrary<typeof SYMBOLS>;

function openLibc(path: string): Libc {
  const name = { linux: "libc.so.6", darwin: "libSystem.dylib" }[Deno.build.os as string];
  if (!name) throw unavailable(path, `memory maps are not supported on ${Deno.build.os}`);
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") {
    throw unavailable(path, "memory maps need --allow-ffi");
  }
  return Deno.dlopen(name, SYMBOLS);
}

/** mmap fails with the address -1. */
function isFailed(map: Deno.PointerValue): boolean {
  return map !== null && BigInt.asIntN(64, Deno.UnsafePointer.value(map)) === -1n;
}

function unavailable(path: string, found: string): EngramError {
  return new EngramError("unavailable", `Cannot map \`${path}\`: ${found}`, {
    where: path,
    hint: "Read the file by position instead, which works everywhere",
  });
}

class MappedSource implements SyncByteSource {
  readonly #memory: MemoryWindows;

  constructor(
    readonly name: string,
    readonly file: number,
    readonly size: number,
    readonly modified: number,
    readonly map: Deno.PointerObject | null,
    readonly libc: Libc,
  ) {
    const windows: Uint8Array[] = [];
    for (let at = 0; map && at < size; at += WINDOW) {
      const length = Math.min(WINDOW, size - at);
      const view = Deno.UnsafePointerView.getArrayBuffer(map, length, at);
      windows.push(new Uint8Array(view));
    }
    this.#memory = memoryWindows(windows, WINDOW);
  }

  #closed = false;

  // deno-lint-ignore require-await -- a throw has to become a rejection
  async read(into: Uint8Array, offset: number): Promise<void> {
    this.readSync(into, offset);
  }

  get memory(): MemoryWindows {
    if (this.#closed) throw new EngramError("usage", `Cannot read \`${this.name}\`: it is closed`);
    return this.#memory;
  }

  readSync(into: Uint8Array, offset: number): void {
    const { memory } = this;
    checkRange(this.name, this.size, offset, into.length);
    copyAcross(memory, offset, into);
  }

  checkUnchanged(): void {
    const now = fstatSync(this.file);
    if (now.size === this.size && now.mtimeMs === this.modified) return;
    throw new EngramError(
      "unavailable",
      `Cannot read \`${this.name}\`: it was changed (${now.size} bytes, was ${this.size})`,
      { where: this.name, hint: "Another program changes the file; run again when that has ended" },
    );
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.map) this.libc.symbols.munmap(this.map, BigInt(this.size));
    closeSync(this.file);
    this.libc.close();
  }
}
