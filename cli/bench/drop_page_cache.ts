const POSIX_FADV_DONTNEED = 4;

/**
 * Asks the system to forget the cached pages of one file, so that the next read is cold.
 * Gives false where that cannot be done (not Linux, or no `--allow-ffi`): the case is then not run,
 * rather than run warm under a cold name.
 */
export function dropPageCache(path: string): boolean {
  if (Deno.build.os !== "linux") return false;
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return false;
  const libc = Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32" },
    posix_fadvise: { parameters: ["i32", "i64", "i64", "i32"], result: "i32" },
    fsync: { parameters: ["i32"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  });
  try {
    const file = libc.symbols.open(new TextEncoder().encode(`${path}\0`), 0);
    if (file < 0) return false;
    // Dirty pages are not dropped, so they are written first.
    libc.symbols.fsync(file);
    const failed = libc.symbols.posix_fadvise(file, 0n, 0n, POSIX_FADV_DONTNEED);
    libc.symbols.close(file);
    return failed === 0;
  } finally {
    libc.close();
  }
}
