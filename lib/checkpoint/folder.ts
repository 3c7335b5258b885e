import type { ByteSource } from "../bytes/byte_source.ts";

/**
 * Where a checkpoint's files lie: a folder of the file system, or one behind a URL.
 * Names are relative, with `/` between parts, and have been checked to stay inside.
 */
export interface Folder {
  /** Path or URL, for messages. */
  readonly name: string;
  /** Whether opening a file takes a round trip over a network: only those needed are opened. */
  readonly distant?: boolean;
  /** Names of the files directly inside, sorted; null where the place cannot be listed. */
  list(): Promise<readonly string[] | null>;
  /** What stands at `name`: its target outside the folder where it is a link out of it. */
  outside(name: string): Promise<string | null>;
  /** Whether there is a file called `name`. */
  has(name: string): Promise<boolean>;
  /** Opens a file; one that is not there is an `EngramError` of kind `unavailable`. */
  open(name: string): Promise<ByteSource>;
  /** Path or URL of a file, for messages and for tools that open it themselves. */
  path(name: string): string;
}
