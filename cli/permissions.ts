/** Deno flags that a command needs, and when; always where nothing is said. */
export type Permission = readonly [flags: string, when?: string];

/** Every file that is named. */
export const READ: Permission = ["--allow-read"];

/** Of a checkpoint or tokenizer behind `https://` or `hf://`. */
export const REMOTE: Permission = [
  "--allow-net --allow-env",
  "where an input is a URL (with ENGRAM_CACHE also --allow-write)",
];

/** Of outputs whose size is known first. */
export const DISK_SPACE: Permission = [
  "--allow-sys=statfs",
  "to write 16 MiB or more: the free space is asked for first",
];

/** Of tables whose files are mapped. */
export const MAPPED: Permission = [
  "--allow-ffi",
  "with --backend mapped; on Linux, rows of files are read sooner with it (io_uring)",
];

/** Of the tokenizer library's native addon. */
export const NATIVE_TOKENIZER: Permission = [
  "--allow-env --allow-ffi",
  "to tokenize with the native library; without, JavaScript does, slower",
];

/** Of the system's own copy between files. */
export const SYSTEM_COPY: Permission = [
  "--allow-ffi",
  "to copy within the system; without, by reading and writing, slower",
];

/** Of commands that write nothing unless `option` is given. */
export function writeWith(option: string): Permission {
  return ["--allow-write", `with ${option}`];
}

/** The flags in one column and when in the next. */
export function permissionLines(permissions: readonly Permission[]): string[] {
  if (permissions.length === 0) return ["none"];
  const width = Math.max(...permissions.map(([flags]) => flags.length));
  return permissions.map(([flags, when]) => when ? `${flags.padEnd(width)}  ${when}` : flags);
}
