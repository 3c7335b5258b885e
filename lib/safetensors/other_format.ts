/** What the first bytes of a file that is no safetensors file say it is, or null when they say nothing. */
export function otherFormat(head: Uint8Array): { found: string; hint: string } | null {
  if (head.length === 0) {
    return { found: "an empty file", hint: "The download or copy may have failed; get it again" };
  }
  for (const [found, magic, hint] of MAGIC) {
    if (magic.every((byte, i) => byte === null || byte === head[i])) return { found, hint };
  }
  const text = new TextDecoder("latin1").decode(head).replace(/^(ï»¿)?\s*/, "");
  if (/^<(!doctype|html|head|body|\?xml|!--)/i.test(text)) return WEB_PAGE;
  const pointer = /^version https:\/\/git-lfs\.github\.com\/spec\//.test(text);
  if (pointer) {
    const size = /^size (\d+)$/m.exec(text)?.[1];
    return {
      found: `a Git LFS pointer${size ? ` (to a file of ${size} bytes)` : ""}`,
      hint: "Fetch the file itself: `git lfs pull` in its folder",
    };
  }
  return /^[[{]/.test(text) ? JSON_TEXT : null;
}

const WEB_PAGE = {
  found: "a web page",
  hint: "The download gave a page instead of the file (a login, or an error); get the file itself",
};
const JSON_TEXT = {
  found: "JSON text",
  hint: "A config or an index is opened by its folder, or as a .json file",
};
const CONVERT = "Convert the checkpoint to safetensors first";
const UNPACK = "Unpack it first";

const bytes = (text: string): number[] => [...text].map((c) => c.charCodeAt(0));

/** `null` stands for any byte. */
const MAGIC: readonly (readonly [found: string, magic: (number | null)[], hint: string])[] = [
  ["a zip archive (PyTorch's .pt and .bin files are zips)", bytes("PK\x03\x04"), CONVERT],
  ["an empty zip archive", bytes("PK\x05\x06"), CONVERT],
  ["a GGUF file", bytes("GGUF"), "Convert the model from its original safetensors checkpoint"],
  ["a NumPy array", bytes("\x93NUMPY"), "Pass it where a command takes .npy, not as a checkpoint"],
  ["a pickle (an old PyTorch checkpoint)", [0x80, null, 0x8a, 0x0a], CONVERT],
  ["a Python pickle", [0x80, 0x02, 0x7d], CONVERT],
  ["a Python pickle", [0x80, 0x03, 0x7d], CONVERT],
  ["a Python pickle", [0x80, 0x04, 0x95], CONVERT],
  ["a Python pickle", [0x80, 0x05, 0x95], CONVERT],
  ["an HDF5 file", bytes("\x89HDF\r\n\x1a\n"), CONVERT],
  ["a gzip archive", [0x1f, 0x8b], UNPACK],
  ["a Zstandard archive", [0x28, 0xb5, 0x2f, 0xfd], UNPACK],
  ["an xz archive", [0xfd, ...bytes("7zXZ")], UNPACK],
  ["a bzip2 archive", bytes("BZh"), UNPACK],
  ["a 7-Zip archive", [...bytes("7z"), 0xbc, 0xaf], UNPACK],
  ["a tar archive's compressed start", bytes("\x1f\x9d"), UNPACK],
  ["a PDF document", bytes("%PDF-"), "Get the checkpoint file itself"],
];
