import type { Printer } from "./printer.ts";

/** Says so where texts cannot be tokenized by the native library for want of a permission. */
export function noteTokenizer(printer: Pick<Printer, "note">): void {
  const missing = (["env", "ffi"] as const)
    .filter((name) => Deno.permissions.querySync({ name }).state !== "granted");
  if (missing.length === 0) return;
  const flags = missing.map((name) => `--allow-${name}`).join(" ");
  printer.note(`tokenizing in JavaScript: the native library, faster, needs ${flags}`);
}
