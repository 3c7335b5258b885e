import { EngramError } from "../errors.ts";

/** What the operating system's code says, and how to mend it. */
const CODES: Readonly<Record<string, readonly [found: string, hint?: string]>> = {
  ENOENT: ["no such file or folder"],
  EEXIST: ["it exists already and is no folder", "Choose another name"],
  ENOTDIR: ["a part of the path is not a folder"],
  EISDIR: ["it is a folder, wanted a file"],
  EACCES: ["no permission", "Check the owner and mode of the file and of its folders"],
  EPERM: ["no permission", "Check the owner and mode of the file and of its folders"],
  EROFS: ["the file system is read-only"],
  ENOSPC: ["the disk is full", "Free some space and run the same command again"],
  EDQUOT: ["the disk quota is used up", "Free some space and run the same command again"],
  EFBIG: ["the file system does not take files of this size"],
  EMFILE: ["too many files are open", "Raise the limit with `ulimit -n`"],
  EIO: ["the device failed", "Look at the system's log; the disk may be failing"],
  ELOOP: ["its symbolic links go in a circle"],
  ENAMETOOLONG: ["the name is too long"],
};

/** An `EngramError` for a failed file operation, e.g. `fileError("open", path, error)`. */
export function fileError(act: string, path: string, error: unknown): EngramError {
  if (error instanceof EngramError) return error;
  const code = (error as { code?: unknown }).code;
  const known = typeof code === "string" ? CODES[code] : undefined;
  const text = error instanceof Error ? error.message : String(error);
  const missing = error instanceof Error && error.name === "NotCapable";
  const [found, hint] = missing
    ? ["Deno was not given the permission", "Run with `-A`, or grant the permission it names"]
    : code === "ENOENT"
    ? ["no such file or folder", missingHint(act, path)]
    : known ?? [text];
  return new EngramError("unavailable", `Cannot ${act} \`${path}\`: ${found}`, {
    where: path,
    ...(hint ? { hint } : {}),
    ...(known && !missing ? {} : { cause: error }),
  });
}

function missingHint(act: string, path: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path)) {
    return "Wanted a path, https://… or hf://organization/name";
  }
  return act === "create"
    ? "Make the folder it is to be in first"
    : "Check the path for typing errors";
}
