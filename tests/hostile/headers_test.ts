import { rejects } from "node:assert/strict";
import { memorySource } from "../../lib/bytes/memory_source.ts";
import { openSafetensors } from "../../lib/safetensors/safetensors_file.ts";
import { entry, rawFile } from "../safetensors/raw_file.ts";

const A = entry("U8", [4], 0, 4);

/** A header whose only entry is `entry`, with four bytes of data. */
const one = (text: string) => rawFile(`{"a":${text}}`, 4);
const fields = (dtype: string, shape: string, offsets: string) =>
  one(`{"dtype":${dtype},"shape":${shape},"data_offsets":${offsets}}`);

/** Each file is refused with a reason of its own. */
const HOSTILE: Record<string, [file: Uint8Array, reason: RegExp]> = {
  // The frame.
  "no bytes": [new Uint8Array(0), /found an empty file/],
  "fewer bytes than a length": [new Uint8Array(7), /found 7 bytes, wanted 8 or more/],
  "length past the limit": [
    rawFile("{}", 0, 100_000_001n),
    /length of 100000001, wanted at most 1/,
  ],
  "length near 2^64": [rawFile("{}", 0, 2n ** 64n - 1n), /length of 18446744073709551615/],
  "length past the file": [rawFile("{}", 0, 3n), /length of 3, wanted at most the 2 bytes/],
  "length zero": [rawFile("", 0), /found the end of the header at character 0, wanted the header/],
  "zeros": [new Uint8Array(64), /found the end of the header at character 0/],

  // The text.
  "bad UTF-8": [rawFile(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d])), /not UTF-8/],
  "UTF-8 of a surrogate": [
    rawFile(new Uint8Array([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d])),
    /not UTF-8/,
  ],
  "byte order mark": [rawFile("\ufeff{}"), /found a byte order mark/],
  "NUL padding": [rawFile("{}\0\0"), /found a NUL byte at character 2, wanted nothing but spaces/],
  "NUL before": [rawFile("\0{}"), /found a NUL byte at character 0, wanted the header to be an ob/],
  "text after": [rawFile("{} {}"), /found "{" at character 3, wanted nothing but spaces/],
  "no-break space": [rawFile("{}\u00a0"), /found "\u00a0" at character 2, wanted nothing but/],
  "vertical tab": [rawFile("{\v}"), /found the character U\+000B/],
  "array": [rawFile("[]"), /found "\[" at character 0, wanted the header to be an/],
  "null": [rawFile("null"), /found "n" at character 0, wanted the header to be an object/],
  "string": [rawFile('"{}"'), /wanted the header to be an object/],
  "number": [rawFile("1"), /wanted the header to be an object/],
  "unclosed object": [rawFile("{"), /found the end of the header at character 1, wanted a key/],
  "unclosed string": [rawFile('{"a'), /the end of the header at character 3, wanted the end of a/],
  "comma at the end": [rawFile(`{"a":${A},}`, 4), /found "}".*wanted a key of the header/],
  "two commas": [rawFile(`{"a":${A},,"b":${A}}`, 4), /found ",".*wanted a key of the header/],
  "comma at the start": [rawFile(`{,"a":${A}}`, 4), /found ",".*wanted a key of the header/],
  "no comma": [rawFile(`{"a":${A} "b":${A}}`, 4), /wanted "," or "}" in the header/],
  "no colon": [rawFile(`{"a" ${A}}`, 4), /wanted ":" after a key of the header/],
  "bare key": [rawFile(`{a:${A}}`, 4), /found "a" at character 1, wanted a key of the header in/],
  "single quotes": [rawFile(`{'a':${A}}`, 4), /found "'" at character 1/],
  "comment": [rawFile("{/* */}"), /found "\/" at character 1/],
  "line break in a string": [rawFile('{"\n":0}'), /no control character in a string/],
  "unknown escape": [rawFile('{"\\x41":0}'), /the escape "\\x".*wanted an escape of JSON/],
  "short \\u escape": [rawFile('{"\\u12":0}'), /wanted four hexadecimal digits/],
  "escaped lone high surrogate": [rawFile('{"\\ud83e":0}'), /half of a surrogate pair/],
  "escaped lone low surrogate": [rawFile('{"\\udd8a":0}'), /half of a surrogate pair/],
  "high surrogate twice": [rawFile('{"\\ud83e\\ud83e":0}'), /half of a surrogate pair/],
  "lone surrogate in an unknown field": [
    one('{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":"\\ud83e"}'),
    /half of a surrogate pair/,
  ],
  "128 levels": [
    one(
      `{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":${"[".repeat(126)}${"]".repeat(126)}}`,
    ),
    /wanted at most 127 levels/,
  ],
  "a million levels": [rawFile(`{"a":${"[".repeat(1e6)}`), /wanted its entry to be an object/],
  "a million levels in an unknown field": [
    one(`{"x":${'{"a":'.repeat(1e6)}`),
    /wanted at most 127 levels/,
  ],

  // Metadata.
  "metadata number": [rawFile('{"__metadata__":{"a":1}}'), /the metadata "a" to be a string/],
  "metadata null value": [rawFile('{"__metadata__":{"a":null}}'), /metadata "a" to be a string/],
  "metadata object": [rawFile('{"__metadata__":{"a":{}}}'), /the metadata "a" to be a string/],
  "metadata array": [rawFile('{"__metadata__":[]}'), /"__metadata__" to be an object/],
  "metadata text": [rawFile('{"__metadata__":"a"}'), /"__metadata__" to be an object/],
  "metadata twice": [
    rawFile('{"__metadata__":{},"\\u005f_metadata__":{}}'),
    /a second "__metadata__"/,
  ],
  "metadata that conflicts": [
    rawFile('{"__metadata__":{"a":"1","\\u0061":"2"}}'),
    /two values for the metadata "a"/,
  ],
  "tensor called __metadata__": [rawFile(`{"__metadata__":${A}}`, 4), /"shape" to be a string/],

  // Entries.
  "entry null": [one("null"), /tensor "a": found "n".*wanted its entry to be an object/],
  "entry array": [one('["U8",[4],[0,4]]'), /wanted its entry to be an object/],
  "no dtype": [one('{"shape":[4],"data_offsets":[0,4]}'), /no "dtype"/],
  "no shape": [one('{"dtype":"U8","data_offsets":[0,4]}'), /no "shape"/],
  "no data_offsets": [one('{"dtype":"U8","shape":[4]}'), /no "data_offsets"/],
  "dtype twice": [
    one('{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}'),
    /a second "dtype"/,
  ],
  "shape twice": [
    one('{"shape":[4],"dtype":"U8","shap\\u0065":[4],"data_offsets":[0,4]}'),
    /a second "shape"/,
  ],
  "data_offsets twice": [
    one('{"dtype":"U8","shape":[4],"data_offsets":[0,4],"data_offsets":[0,4]}'),
    /a second "data_offsets"/,
  ],
  "unknown dtype": [fields('"U4"', "[4]", "[0,4]"), /the dtype "U4".*wanted one of the format/],
  "dtype in lower case": [fields('"u8"', "[4]", "[0,4]"), /the dtype "u8"/],
  "dtype of a prototype": [fields('"toString"', "[4]", "[0,4]"), /the dtype "toString"/],
  "dtype number": [fields("8", "[4]", "[0,4]"), /"dtype" to be a string/],
  "shape number": [fields('"U8"', "4", "[0,4]"), /"shape" to be an array/],
  "shape null": [fields('"U8"', "null", "[0,4]"), /"shape" to be an array/],
  "shape of text": [
    fields('"U8"', '["4"]', "[0,4]"),
    /found a string at.*non-negative integers in "shape"/,
  ],
  "shape 4.0": [fields('"U8"', "[4.0]", "[0,4]"), /the number 4\.0 at.*integers in "shape"/],
  "shape 4e0": [fields('"U8"', "[4e0]", "[0,4]"), /the number 4e0 at/],
  "shape negative": [fields('"U8"', "[-4]", "[0,4]"), /the number -4 at/],
  "offset minus zero": [fields('"U8"', "[4]", "[-0,4]"), /the number -0 at/],
  "leading zero": [fields('"U8"', "[04]", "[0,4]"), /no zeros in front of a number/],
  "plus sign": [fields('"U8"', "[+4]", "[0,4]"), /found "\+"/],
  "hexadecimal": [fields('"U8"', "[0x4]", "[0,4]"), /found "x"/],
  "NaN": [fields('"U8"', "[NaN]", "[0,4]"), /found "N"/],
  "2^53": [fields('"U8"', "[9007199254740992]", "[0,4]"), /"shape" below 2\^53/],
  "2^53 + 1, which rounds": [
    fields('"U8"', "[4]", "[0,9007199254740993]"),
    /9007199254740993 at.*"data_offsets" below 2\^53/,
  ],
  "2^64": [fields('"U8"', "[4]", "[0,18446744073709551616]"), /"data_offsets" below 2\^53/],
  "a number past a float64 in an unknown field": [
    one('{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1e999}'),
    /1e999.*wanted one that fits a float64/,
  ],
  "one offset": [fields('"U8"', "[4]", "[0]"), /1 numbers in "data_offsets".*wanted two/],
  "three offsets": [fields('"U8"', "[4]", "[0,4,4]"), /3 numbers in "data_offsets"/],
  "conflicting duplicates": [
    rawFile(`{"a":${A},"a":${entry("I8", [4], 0, 4)}}`, 4),
    /two entries for tensor "a" that differ/,
  ],
  "conflicting duplicates, one with escapes": [
    rawFile(`{"a":${A},"\\u0061":${entry("U8", [2, 2], 0, 4)}}`, 4),
    /two entries for tensor "a" that differ/,
  ],

  // Spans.
  "end before start": [fields('"U8"', "[4]", "[4,0]"), /ending at byte 0, before its start 4/],
  "shape larger than span": [
    fields('"U8"', "[5]", "[0,4]"),
    /found 4 bytes.*wanted 5 for U8 \[5\]/,
  ],
  "shape smaller than span": [fields('"U8"', "[3]", "[0,4]"), /found 4 bytes.*wanted 3 for U8/],
  "scalar larger than span": [fields('"F64"', "[]", "[0,4]"), /found 4 bytes.*wanted 8 for F64/],
  "shape that wraps at 2^64": [
    fields('"U8"', "[4294967296,4294967297,4]", "[0,4]"),
    /more than any file holds/,
  ],
  "shape that wraps before its zero": [
    fields('"U8"', "[4294967296,4294967296,0]", "[0,0]"),
    /more than any file holds/,
  ],
  "half a byte": [fields('"F4"', "[3]", "[0,1]"), /ends inside a byte/],
  "three quarters of a byte": [fields('"F6_E2M3"', "[5]", "[0,4]"), /ends inside a byte/],
  "hole at the start": [rawFile(`{"a":${entry("U8", [2], 2, 4)}}`, 4), /2 bytes before tensor "a"/],
  "hole between": [
    rawFile(`{"a":${entry("U8", [1], 0, 1)},"b":${entry("U8", [1], 3, 4)}}`, 4),
    /2 bytes before tensor "b" that belong to no tensor/,
  ],
  "overlap": [
    rawFile(`{"a":${entry("U8", [3], 0, 3)},"b":${entry("U8", [2], 2, 4)}}`, 4),
    /tensor "b" starting at byte 2, inside tensor "a" that ends at 3/,
  ],
  "alias": [rawFile(`{"a":${A},"b":${A}}`, 4), /tensor "b" on the same bytes as tensor "a"/],
  "alias of another type": [
    rawFile(`{"a":${A},"b":${entry("F32", [], 0, 4)}}`, 4),
    /on the same bytes as tensor/,
  ],
  "empty tensor inside another": [
    rawFile(`{"a":${A},"b":${entry("U8", [0], 2, 2)}}`, 4),
    /tensor "b" starting at byte 2, inside tensor "a"/,
  ],
  "bytes after": [rawFile(`{"a":${A}}`, 5), /found 1 bytes after the last tensor, wanted none/],
  "bytes and no tensor": [rawFile("{}", 5), /found 5 bytes after the last tensor/],
  "bytes missing": [rawFile(`{"a":${A}}`, 3), /ending at byte 4 of the data, past its 3 bytes/],
  "empty tensor past the end": [
    rawFile(`{"a":${A},"b":${entry("U8", [0], 6, 6)}}`, 4),
    /2 bytes before tensor "b"/,
  ],
};

for (const [name, [file, reason]] of Object.entries(HOSTILE)) {
  Deno.test(`hostile header: ${name}`, async () => {
    const source = memorySource(file, "hostile.safetensors");
    await rejects(openSafetensors(source), {
      name: "EngramError",
      kind: "malformed",
      where: "hostile.safetensors",
      message: reason,
    });
    await rejects(source.read(new Uint8Array(0), 0), /it is closed/);
  });
}
