import assert from "node:assert/strict";
import { npyHeader, readNpyHeader } from "../../lib/arrays/npy_header.ts";
import { memorySource } from "../../lib/bytes/memory_source.ts";

Deno.test("headers are byte for byte those NumPy 2.4.6 writes", () => {
  const text = (bytes: Uint8Array) => String.fromCharCode(...bytes);
  const wanted = (dict: string) =>
    `\x93NUMPY\x01\x00v\x00${dict}${" ".repeat(117 - dict.length)}\n`;
  assert.equal(
    text(npyHeader("<i4", [64, 2, 24])),
    wanted("{'descr': '<i4', 'fortran_order': False, 'shape': (64, 2, 24), }"),
  );
  assert.equal(
    text(npyHeader("<f4", [3])),
    wanted("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"),
  );
  assert.equal(
    text(npyHeader("<f4", [])),
    wanted("{'descr': '<f4', 'fortran_order': False, 'shape': (), }"),
  );
});

Deno.test("a written header is read back", async () => {
  for (const shape of [[], [0], [7], [2, 3], [1, 2, 3]]) {
    const header = npyHeader("<i4", shape);
    const bytes = new Uint8Array(header.length + shape.reduce((n, size) => n * size, 4));
    bytes.set(header);
    assert.deepEqual(await readNpyHeader(memorySource(bytes)), {
      descr: "<i4",
      fortranOrder: false,
      shape,
      offset: header.length,
    });
  }
});

Deno.test("what holds no numbers is refused by its type, not by its size", async () => {
  for (const descr of ["|O", "<U3", "|S4", "<M8[ns]"]) {
    const header = npyHeader(descr, [2]);
    const bytes = new Uint8Array(header.length + 24);
    bytes.set(header);
    await assert.rejects(readNpyHeader(memorySource(bytes, "a.npy")), {
      name: "EngramError",
      kind: "malformed",
      message: `Cannot read \`a.npy\` as .npy: found values of type ${descr}, wanted numbers`,
    });
  }
});

Deno.test("sizes whose product is past 2^53 are refused, whatever it is rounded to", async () => {
  for (const shape of [[2 ** 53 - 1, 3], [2 ** 32, 2 ** 32], [2 ** 63, 2]]) {
    const header = npyHeader("<i4", shape);
    await assert.rejects(readNpyHeader(memorySource(header, "a.npy")), /found \d+ bytes, wanted/);
  }
});
