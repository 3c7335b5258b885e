import { deepEqual, equal } from "node:assert/strict";
import { memorySource } from "../../lib/bytes/memory_source.ts";
import { DTYPE_BITS } from "../../lib/safetensors/dtype.ts";
import { readTensor } from "../../lib/safetensors/read_tensor.ts";
import { openSafetensors } from "../../lib/safetensors/safetensors_file.ts";
import { entry, rawFile } from "./raw_file.ts";

const open = (header: string, data: number | Uint8Array = 0) =>
  openSafetensors(memorySource(rawFile(header, data)));

const A = entry("U8", [4], 0, 4);

/** Headers the reference library takes: the names of the tensors in the order of their bytes. */
const ACCEPTED: Record<string, [header: string, data: number, names: string[]]> = {
  "no tensors": ["{}", 0, []],
  "spaces before and after": [` \n\t\r{ "a" : ${A} }  \n `, 4, ["a"]],
  "any order": [`{"b":${entry("U8", [2], 2, 4)},"a":${entry("U8", [2], 0, 2)}}`, 4, ["a", "b"]],
  "any order of an entry's keys": [
    '{"a":{"data_offsets":[0,4],"shape":[4],"dtype":"U8"}}',
    4,
    ["a"],
  ],
  "an identical duplicate": [`{"a":${A},"a":${A}}`, 4, ["a"]],
  "an identical duplicate with escapes": [`{"a":${A},"\\u0061":${A}}`, 4, ["a"]],
  "unknown fields": [
    '{"a":{"dtype":"U8","x":[1.5,-2e3,{"y":null}],"shape":[4],"x":true,"data_offsets":[0,4]}}',
    4,
    ["a"],
  ],
  "127 levels": [
    `{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":${"[".repeat(125)}${
      "]".repeat(125)
    }}}`,
    4,
    ["a"],
  ],
  "metadata null": [`{"__metadata__":null,"a":${A}}`, 4, ["a"]],
  "metadata empty": [`{"__metadata__":{},"a":${A}}`, 4, ["a"]],
  "metadata last": [`{"a":${A},"__metadata__":{"x":"1"}}`, 4, ["a"]],
  "a scalar": [`{"a":${entry("F32", [], 0, 4)}}`, 4, ["a"]],
  "empty tensors at every boundary": [
    `{"z":${entry("U8", [0], 4, 4)},"a":${A},"y":${entry("F32", [3, 0], 0, 0)},"x":${
      entry("BF16", [0], 4, 4)
    }}`,
    4,
    ["y", "a", "z", "x"],
  ],
  "only empty tensors": [`{"a":${entry("U8", [0], 0, 0)},"b":${entry("U8", [0], 0, 0)}}`, 0, [
    "a",
    "b",
  ]],
  "a zero before sizes that would overflow": [
    `{"a":${entry("U8", [0, 2 ** 40, 2 ** 40], 0, 0)}}`,
    0,
    ["a"],
  ],
  "misaligned starts": [
    `{"a":${entry("U8", [1], 0, 1)},"b":${entry("F64", [1], 1, 9)}}`,
    9,
    ["a", "b"],
  ],
  "half bytes that come out even": [
    `{"a":${entry("F4", [2, 3], 0, 3)},"b":${entry("F6_E3M2", [4], 3, 6)}}`,
    6,
    ["a", "b"],
  ],
  "names of prototypes": [
    `{"__proto__":${entry("U8", [1], 0, 1)},"constructor":${
      entry("U8", [1], 1, 2)
    },"hasOwnProperty":${entry("U8", [1], 2, 3)},"":${entry("U8", [1], 3, 4)}}`,
    4,
    ["__proto__", "constructor", "hasOwnProperty", ""],
  ],
  "names beyond ASCII": [
    `{"重み/é":${entry("U8", [1], 0, 1)},"\\ud83e\\udd8a":${
      entry("U8", [1], 1, 2)
    },"\\u0000\\n\\"":${entry("U8", [1], 2, 3)},"\\u00e9\\/":${entry("U8", [1], 3, 4)}}`,
    4,
    ["重み/é", "🦊", '\0\n"', "é/"],
  ],
};

for (const [name, [header, data, names]] of Object.entries(ACCEPTED)) {
  Deno.test(`header accepted: ${name}`, async () => {
    const file = await open(header, data);
    deepEqual([...file.tensors.keys()], names);
    for (const tensor of file.tensors.values()) {
      equal((await readTensor(tensor)).length, tensor.byteLength);
    }
    file.close();
  });
}

Deno.test("every dtype of the format opens, with the size its bits want", async () => {
  for (const [dtype, bits] of Object.entries(DTYPE_BITS)) {
    const file = await open(`{"a":${entry(dtype, [8, 3], 0, 3 * bits)}}`, 3 * bits);
    deepEqual([file.tensor("a").dtype, file.tensor("a").byteLength], [dtype, 3 * bits]);
  }
});

Deno.test("metadata keeps its order, and takes keys of prototypes", async () => {
  const file = await open('{"__metadata__":{"z":"","__proto__":"p","a":"\\u00e9","z":""}}');
  deepEqual([...file.metadata], [["z", ""], ["__proto__", "p"], ["a", "é"]]);
});

Deno.test("a tensor's offset counts from the start of the file", async () => {
  const header = `{"a":${entry("U8", [2], 0, 2)},"b":${entry("U8", [1], 2, 3)}}`;
  const file = await open(header, new Uint8Array([7, 8, 9]));
  equal(file.headerBytes, 8 + header.length);
  equal(file.tensor("b").offset, 8 + header.length + 2);
  deepEqual([...await readTensor(file.tensor("a"))], [7, 8]);
  deepEqual([...await readTensor(file.tensor("b"))], [9]);
});

Deno.test("a header longer than the first read arrives whole", async () => {
  const names = Array.from({ length: 100 }, (_, i) => `a tensor with a long name, number ${i}`);
  const members = names.map((name, i) => `"${name}":${entry("U8", [1], i, i + 1)}`);
  const file = await open(`{${members.join(",")}}`, Uint8Array.from(names, (_, i) => i));
  deepEqual([...file.tensors.keys()], names);
  deepEqual([...await readTensor(file.tensor(names[99]))], [99]);
});

Deno.test("a header of a hundred thousand tensors opens", async () => {
  const members = Array.from(
    { length: 100_000 },
    (_, i) =>
      `"model.layers.${i}.weight":{"dtype":"U8","shape":[1],"data_offsets":[${i},${i + 1}]}`,
  );
  // Backwards, so that the order of the header is not that of the bytes.
  const file = await open(`{${members.reverse().join(",")}}`, 100_000);
  equal(file.tensors.size, 100_000);
  equal([...file.tensors.values()].every((t, i) => t.offset === file.headerBytes + i), true);
});
