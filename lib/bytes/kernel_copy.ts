/** Bytes copied in one call: some tenths of a second, so that signals are seen between calls. */
const STEP = 256 * 2 ** 20;

type CopyFileRange = (
  from: number,
  fromOffset: BigInt64Array<ArrayBuffer>,
  to: number,
  toOffset: BigInt64Array<ArrayBuffer>,
  bytes: bigint,
) => bigint;

/** The system call, or null where there is none or it may not be called; undefined until asked. */
let copyFileRange: CopyFileRange | null | undefined;

/**
 * Copies at most `bytes` bytes between two open files inside the kernel, as `cp` does: half the
 * work of reading and writing them. Gives how many were copied; 0 where that cannot be done here
 * (no Linux, no `--allow-ffi`, file systems that do not take it), and they are to be read and written.
 */
export function kernelCopy(
  from: number,
  fromOffset: number,
  to: number,
  toOffset: number,
  bytes: number,
): number {
  copyFileRange ??= open();
  if (!copyFileRange) return 0;
  const copied = Number(copyFileRange(
    from,
    BigInt64Array.of(BigInt(fromOffset)),
    to,
    BigInt64Array.of(BigInt(toOffset)),
    BigInt(Math.min(bytes, STEP)),
  ));
  return Math.max(0, copied);
}

function open(): CopyFileRange | null {
  if (typeof Deno === "undefined" || Deno.build.os !== "linux") return null;
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") return null;
  try {
    // Left open: it is the C library, loaded for as long as the process lives.
    const { symbols } = Deno.dlopen("libc.so.6", {
      copy_file_range: {
        parameters: ["i32", "buffer", "i32", "buffer", "usize", "u32"],
        result: "isize",
      },
    });
    return (from, fromOffset, to, toOffset, bytes) =>
      symbols.copy_file_range(from, fromOffset, to, toOffset, bytes, 0);
  } catch {
    // Other C libraries than glibc go by other names.
    return null;
  }
}
