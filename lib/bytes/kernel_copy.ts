/** Bytes copied in one call: some tenths of a second, so that signals are seen between calls. */
const STEP = 256 * 2 ** 20;

/** Shorter copies are not worth loading the C library for. */
const WORTH_IT = 4 * 2 ** 20;

/** Whether the system call is known not to be there. */
let missing = false;

/**
 * Copies at most `bytes` bytes between two open files inside the kernel, as `cp` does: half the
 * work of reading and writing them. Gives how many were copied; 0 where that cannot be done here
 * (few bytes, no Linux, no `--allow-ffi`, file systems that do not take it), and they are to be
 * read and written.
 */
export function kernelCopy(
  from: number,
  fromOffset: number,
  to: number,
  toOffset: number,
  bytes: number,
): number {
  if (missing || bytes < WORTH_IT || !mayCall()) return 0;
  // Opened for each call, which takes microseconds, so that nothing is left open.
  const library = open();
  try {
    const copied = library?.symbols.copy_file_range(
      from,
      BigInt64Array.of(BigInt(fromOffset)),
      to,
      BigInt64Array.of(BigInt(toOffset)),
      BigInt(Math.min(bytes, STEP)),
      0,
    );
    return copied === undefined || copied < 0n ? 0 : Number(copied);
  } finally {
    library?.close();
  }
}

function mayCall(): boolean {
  return typeof Deno !== "undefined" && Deno.build.os === "linux" &&
    Deno.permissions.querySync({ name: "ffi" }).state === "granted";
}

function open() {
  try {
    return Deno.dlopen("libc.so.6", {
      copy_file_range: {
        parameters: ["i32", "buffer", "i32", "buffer", "usize", "u32"],
        result: "isize",
      },
    });
  } catch {
    // Other C libraries than glibc go by other names.
    missing = true;
    return null;
  }
}
