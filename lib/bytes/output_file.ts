import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { EngramError } from "../errors.ts";
import { fileError } from "./file_error.ts";
import { checkFreeSpace } from "./free_space.ts";

/** Bytes after which what was written is sent to the disk, beside the writing of more. */
const FLUSH_BYTES = 2 ** 26;

/** How an {@linkcode OutputFile} is made. */
export interface OutputFileOptions {
  /** Replace a file that exists. */
  force?: boolean;
  /** Final size in bytes, where it is known: checked against the free space first. */
  size?: number;
}

/**
 * A file that appears whole or not at all. Bytes go to `.NAME.partial` beside it, which is renamed
 * on {@linkcode OutputFile.commit}; without that it is removed when the object is disposed or the
 * program exits. A leftover of a killed program is taken over by the next run.
 *
 * @example
 * ```ts ignore
 * using file = OutputFile.create("ids.bin", { size: 8 });
 * file.write(new Uint8Array(8));
 * file.commit();
 * ```
 */
export class OutputFile implements Disposable {
  /** Where the file will be. */
  readonly path: string;
  readonly #partial: string;
  readonly #force: boolean;
  /** Held open for its lock, which the system drops however the program ends, and for flushes. */
  readonly #lock: Deno.FsFile;
  readonly #file: number;
  #end = 0;
  #unflushed = 0;
  #flushing = false;
  #done = false;

  private constructor(path: string, partial: string, force: boolean, lock: Deno.FsFile) {
    this.path = path;
    this.#partial = partial;
    this.#force = force;
    this.#lock = lock;
    this.#file = fs.openSync(partial, "r+");
    globalThis.addEventListener("unload", this.#onExit);
  }

  /**
   * Checks that `path` can be written, and begins the file beside it.
   * An existing file without `force`, a folder that cannot be written, too little free space and
   * another program writing the same file are `EngramError`s of kind `unavailable`.
   */
  static create(path: string, options: OutputFileOptions = {}): OutputFile {
    const force = options.force ?? false;
    checkTarget(path, force);
    const partial = join(dirname(path), `.${basename(path)}.partial`);
    const lock = lockPartial(path, partial);
    try {
      if (options.size !== undefined) checkFreeSpace(dirname(path), options.size, path);
      return new OutputFile(path, partial, force, lock);
    } catch (error) {
      fs.rmSync(partial, { force: true });
      lock.close();
      throw fileError("create", path, error);
    }
  }

  /** Bytes from the start to the end of the furthest write. */
  get size(): number {
    return this.#end;
  }

  /** Appends after the furthest byte written so far. */
  write(bytes: Uint8Array): void {
    this.writeAt(bytes, this.#end);
  }

  /** Writes at byte `offset`; a gap left before it reads as zeros. */
  writeAt(bytes: Uint8Array, offset: number): void {
    if (this.#done) throw new EngramError("usage", `Cannot write \`${this.path}\`: it is closed`);
    try {
      for (let done = 0; done < bytes.length;) {
        done += fs.writeSync(this.#file, bytes, done, bytes.length - done, offset + done);
      }
    } catch (error) {
      throw fileError("write", this.path, error);
    }
    this.#end = Math.max(this.#end, offset + bytes.length);
    this.#unflushed += bytes.length;
    if (this.#unflushed >= FLUSH_BYTES && !this.#flushing) this.#beginFlush();
  }

  /** Starts to send what was written to the disk, so that the disk is busy while more is written. */
  #beginFlush(): void {
    this.#unflushed = 0;
    this.#flushing = true;
    // Through a file opened apart: its errors are not taken from the sync that a commit ends with.
    this.#lock.syncData().catch(() => {}).finally(() => this.#flushing = false);
  }

  /** Makes what was written durable beside other work, so that a later commit need not wait. */
  async flush(): Promise<void> {
    if (this.#done) throw new EngramError("usage", `Cannot flush \`${this.path}\`: it is closed`);
    try {
      await promisify(fs.fsync)(this.#file);
    } catch (error) {
      throw fileError("write", this.path, error);
    }
  }

  /** Makes the file durable and gives it its name. Nothing can be written afterwards. */
  commit(): void {
    if (this.#done) throw new EngramError("usage", `Cannot finish \`${this.path}\`: it is closed`);
    try {
      fs.fsyncSync(this.#file);
      checkTarget(this.path, this.#force);
      fs.renameSync(this.#partial, this.path);
      syncFolder(dirname(this.path));
    } catch (error) {
      this.abort();
      throw fileError("finish", this.path, error);
    }
    this.#close();
  }

  /** Removes what was written; does nothing once the file is committed. */
  abort(): void {
    if (this.#done) return;
    fs.rmSync(this.#partial, { force: true });
    this.#close();
  }

  /** Aborts, unless the file is committed. */
  [Symbol.dispose](): void {
    this.abort();
  }

  #close(): void {
    this.#done = true;
    globalThis.removeEventListener("unload", this.#onExit);
    fs.closeSync(this.#file);
    this.#lock.close();
  }

  readonly #onExit = (): void => this.abort();
}

function checkTarget(path: string, force: boolean): void {
  let stat: fs.Stats | undefined;
  try {
    stat = fs.statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw fileError("create", path, error);
  }
  if (!stat) return;
  if (!stat.isFile()) {
    const found = stat.isDirectory() ? "a folder" : "a pipe or device";
    throw new EngramError(
      "unavailable",
      `Cannot create \`${path}\`: found ${found} of that name, wanted none`,
      { where: path },
    );
  }
  if (!force) {
    throw new EngramError("unavailable", `Cannot create \`${path}\`: it exists already`, {
      where: path,
      hint: "Add `--force` to replace it",
    });
  }
}

/** Opens the partial file and locks it, so that two programs never write the same one. */
function lockPartial(path: string, partial: string): Deno.FsFile {
  while (true) {
    let lock: Deno.FsFile;
    try {
      lock = Deno.openSync(partial, { read: true, write: true, create: true });
    } catch (error) {
      throw fileError("create", path, error);
    }
    try {
      if (!lock.tryLockSync(true)) {
        throw new EngramError(
          "unavailable",
          `Cannot create \`${path}\`: another program is writing it at this moment`,
          { where: path, hint: "Wait for that program, or choose another name" },
        );
      }
      // Between opening and locking the other writer may have renamed or removed it.
      const named = fs.statSync(partial, { throwIfNoEntry: false });
      if (named && named.ino === lock.statSync().ino) {
        lock.truncateSync(0);
        return lock;
      }
      lock.close();
    } catch (error) {
      lock.close();
      throw fileError("create", path, error);
    }
  }
}

/** The new name itself must survive a power cut; systems that cannot sync a folder do it anyway. */
function syncFolder(folder: string): void {
  let handle: number;
  try {
    handle = fs.openSync(folder, "r");
  } catch {
    return;
  }
  try {
    fs.fsyncSync(handle);
  } catch {
    // Not every file system syncs folders.
  } finally {
    fs.closeSync(handle);
  }
}
