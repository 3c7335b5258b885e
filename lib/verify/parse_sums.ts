import { EngramError } from "../errors.ts";

/**
 * Reads a list as `sha256sum` writes it: on each line a digest, two spaces (or a space and `*`)
 * and a file name; a line that starts with a backslash has escapes in its name. Empty lines and
 * comments (`#`) are passed over.
 *
 * @throws an {@linkcode EngramError} of kind `malformed` that names the line.
 */
export function parseSums(text: string, where: string): Map<string, string> {
  const sums = new Map<string, string>();
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const match = /^(\\?)([0-9a-fA-F]{64}) [ *](.+)$/.exec(line);
    if (!match) {
      const shown = line.length <= 80 ? line : `${line.slice(0, 80)}…`;
      throw new EngramError(
        "malformed",
        `Cannot read \`${where}\`: line ${i + 1} is ${JSON.stringify(shown)}, ` +
          "wanted a SHA-256 in hexadecimal, two spaces and a file name",
        { where, hint: "Make the list with `sha256sum *.safetensors > SHA256SUMS`" },
      );
    }
    const [, escaped, digest, name] = match;
    const file = (escaped ? unescape(name) : name).replace(/^\.\//, "");
    const before = sums.get(file);
    if (before !== undefined && before !== digest.toLowerCase()) {
      throw new EngramError(
        "malformed",
        `Cannot read \`${where}\`: line ${i + 1} gives \`${file}\` a second digest`,
        { where },
      );
    }
    sums.set(file, digest.toLowerCase());
  }
  return sums;
}

function unescape(name: string): string {
  return name.replaceAll(/\\(\\|n|r)/g, (_, c) => c === "n" ? "\n" : c === "r" ? "\r" : "\\");
}
