import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { openIds } from "../../lib/arrays/open_ids.ts";
import { writeSafetensors } from "../../lib/safetensors/writer.ts";

interface Request {
  ids: number[];
  dead: number[] | null;
}

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Everything in a file, request by request. */
async function readAll(path: string): Promise<Request[]> {
  const source = await openIds(path);
  try {
    const requests: Request[] = [];
    for await (const { ids, dead, requestStart } of source.chunks()) {
      if (requestStart) requests.push({ ids: [], dead: dead ? [] : null });
      requests.at(-1)!.ids.push(...ids);
      if (dead) requests.at(-1)!.dead!.push(...dead);
    }
    return requests;
  } finally {
    source.close();
  }
}

async function readBytes(folder: string, bytes: Uint8Array): Promise<Request[]> {
  const path = join(folder, "ids");
  await Deno.writeFile(path, bytes);
  return await readAll(path);
}

const readText = (folder: string, text: string) =>
  readBytes(folder, new TextEncoder().encode(text));
const plain = (...requests: number[][]): Request[] => requests.map((ids) => ({ ids, dead: null }));

/** A .npy file put together by hand, as NumPy's format describes it. */
function npy(descr: string, shape: string, data: ArrayBufferView, version = 1): Uint8Array {
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }\n`;
  const begin = version === 1 ? 10 : 12;
  const bytes = new Uint8Array(begin + header.length + data.byteLength);
  bytes.set([0x93, ...new TextEncoder().encode("NUMPY"), version, 0]);
  const view = new DataView(bytes.buffer);
  if (version === 1) view.setUint16(8, header.length, true);
  else view.setUint32(8, header.length, true);
  bytes.set(new TextEncoder().encode(header), begin);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), begin + header.length);
  return bytes;
}

const TEXTS: [text: string, requests: number[][]][] = [
  ["[1, 2, 3]", [[1, 2, 3]]],
  ["  [1,2,\n3 ]\n", [[1, 2, 3]]],
  ["1 2 3", [[1, 2, 3]]],
  ["1\n2\r\n3\n", [[1, 2, 3]]],
  ["1, 2,\t3", [[1, 2, 3]]],
  ["7", [[7]]],
  ["2147483647 0", [[2147483647, 0]]],
  ["[4.0, 1e3]", [[4, 1000]]],
  ["[[1, 2], [], [3]]", [[1, 2], [], [3]]],
  ["[1, 2]\n[]\n[3]\n", [[1, 2], [], [3]]],
  ["[]", [[]]],
  ["[[]]", [[]]],
  ["", [[]]],
  [" \n", [[]]],
];

for (const [text, requests] of TEXTS) {
  Deno.test(`ids as text ${JSON.stringify(text)}`, () =>
    inFolder(async (folder) => {
      assert.deepEqual(await readText(folder, text), plain(...requests));
    }));
}

const BAD_TEXTS: [text: string, message: RegExp][] = [
  ["[1, -2]", /found -2 at position 1, wanted an integer from 0 to 2147483647/],
  ["[1, 2, 2.5]", /found 2\.5 at position 2/],
  ["1 2 2147483648", /found 2147483648 at position 2/],
  ["[[1, 2], [3, -1]]", /found -1 at position 1/],
  ["[9007199254740993]", /at position 0/],
  ["[1, 2", /found the end of the file at byte 5, wanted "\]"/],
  ["[1 2]", /found "2" at byte 3, wanted a comma/],
  ["[1,, 2]", /found "," at byte 3/],
  ["[1, ]", /found "\]" at byte 4/],
  ["[,1]", /found "," at byte 1/],
  ["[1]]", /found "\]" at byte 3/],
  ["[1, [2]]", /found "\[" at byte 4|beside an array/],
  ["[[1], 2]", /"2" beside an array/],
  ["[[[1]]]", /found "\[" at byte 2/],
  ["1 [2]", /found "\[" at byte 2/],
  ["[1, null]", /found "n" at byte 4/],
  ['{"token_ids": [1]}', /found "\{" at byte 0/],
  ['["1"]', /found a quotation mark at byte 1/],
  ["1 2 x", /found "x" at byte 4/],
  ["1-2", /found "1-2"/],
  ["1" + "0".repeat(50), /"10+…"/],
];

for (const [text, message] of BAD_TEXTS) {
  Deno.test(`ids as text ${JSON.stringify(text.slice(0, 20))} are refused`, () =>
    inFolder(async (folder) => {
      await assert.rejects(readText(folder, text), (error: Error) => {
        assert.equal(error.name, "EngramError");
        assert.match(error.message, message);
        return true;
      });
    }));
}

Deno.test("long texts are read the same whatever falls on the chunks' edges", () =>
  inFolder(async (folder) => {
    const requests = [...Array(5).keys()].map((r) =>
      Array.from({ length: 40_000 }, (_, i) => (i * 7919 + r) % 130_000)
    );
    const nested = await readText(folder, JSON.stringify(requests));
    assert.deepEqual(nested, plain(...requests));
    const lines = requests.map((ids) => JSON.stringify(ids)).join("\n");
    assert.deepEqual(await readText(folder, lines), plain(...requests));
    assert.deepEqual(await readText(folder, requests.flat().join(" ")), plain(requests.flat()));
  }));

Deno.test("whatever integers JSON writes are read back", () =>
  inFolder(async (folder) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.nat({ max: 2 ** 31 - 1 })), { minLength: 1 }),
        fc.constantFrom(undefined, 1),
        async (requests, indent) => {
          const text = JSON.stringify(requests, null, indent);
          assert.deepEqual(await readText(folder, text), plain(...requests));
        },
      ),
      { numRuns: 50, seed: 2 },
    );
  }));

const ARRAYS: [descr: string, data: ArrayBufferView][] = [
  ["<i4", Int32Array.of(5, 0, 2147483647)],
  ["<u4", Uint32Array.of(5, 0, 2147483647)],
  ["<i8", BigInt64Array.of(5n, 0n, 2147483647n)],
  ["<u8", BigUint64Array.of(5n, 0n, 2147483647n)],
  ["<f8", Float64Array.of(5, 0, 2147483647)],
];

for (const [descr, data] of ARRAYS) {
  Deno.test(`ids as .npy ${descr}`, () =>
    inFolder(async (folder) => {
      const wanted = plain([5, 0, 2147483647]);
      assert.deepEqual(await readBytes(folder, npy(descr, "(3,)", data)), wanted);
      assert.deepEqual(await readBytes(folder, npy(descr, "(3,)", data, 2)), wanted);
    }));
}

Deno.test("small .npy types, an empty array and one longer than a chunk", () =>
  inFolder(async (folder) => {
    assert.deepEqual(
      await readBytes(folder, npy("|u1", "(2,)", Uint8Array.of(7, 255))),
      plain([7, 255]),
    );
    assert.deepEqual(await readBytes(folder, npy("<i4", "(0,)", new Int32Array(0))), plain([]));
    const long = Int32Array.from({ length: 150_000 }, (_, i) => i);
    assert.deepEqual(await readBytes(folder, npy("<i4", "(150000,)", long)), plain([...long]));
  }));

Deno.test("ids as .npy of the other byte order", () =>
  inFolder(async (folder) => {
    const bytes = new DataView(new ArrayBuffer(16));
    [5, 0, 2147483647, 1].forEach((id, i) => bytes.setInt32(4 * i, id));
    const four = npy(">i4", "(4,)", new Uint8Array(bytes.buffer));
    assert.deepEqual(await readBytes(folder, four), plain([5, 0, 2147483647, 1]));
    const two = npy(">i8", "(2,)", new Uint8Array(bytes.buffer));
    await assert.rejects(readBytes(folder, two), /found 21474836480 at position 0/);
  }));

const BAD_ARRAYS: [what: string, bytes: Uint8Array, message: RegExp][] = [
  ["a negative id", npy("<i4", "(2,)", Int32Array.of(1, -7)), /found -7 at position 1/],
  ["a fraction", npy("<f8", "(2,)", Float64Array.of(1, 0.5)), /found 0\.5 at position 1/],
  ["no number", npy("<f8", "(1,)", Float64Array.of(NaN)), /found NaN at position 0/],
  ["an id of 2^31", npy("<u4", "(1,)", Uint32Array.of(2 ** 31)), /found 2147483648 at position 0/],
  ["an id of 2^53 + 1", npy("<i8", "(1,)", BigInt64Array.of(2n ** 53n + 1n)), /9007199254740993/],
  ["two dimensions", npy("<i4", "(1, 2)", Int32Array.of(1, 2)), /shape \[1, 2\], wanted/],
  ["truth values", npy("|b1", "(1,)", Uint8Array.of(1)), /found \|b1/],
  ["too few bytes", npy("<i4", "(3,)", Int32Array.of(1, 2)), /found \d+ bytes, wanted \d+/],
  ["a later version", npy("<i4", "(1,)", Int32Array.of(1), 4), /version 4/],
  ["a header past the end", npy("<i4", "(1,)", Int32Array.of(1)).subarray(0, 40), /a header of/],
  ["a shape that is none", npy("<i4", "(x,)", Int32Array.of(1)), /a header of another form/],
  ["other bytes", Uint8Array.of(1, 2, 3, 0, 200), /neither safetensors nor \.npy nor text/],
];

for (const [what, bytes, message] of BAD_ARRAYS) {
  Deno.test(`ids with ${what} are refused`, () =>
    inFolder(async (folder) => {
      await assert.rejects(readBytes(folder, bytes), (error: Error) => {
        assert.equal(error.name, "EngramError");
        assert.match(error.message, message);
        return true;
      });
    }));
}

const tokenIds = (...ids: number[]) =>
  ({ name: "token_ids", dtype: "I32", shape: [ids.length], data: Int32Array.from(ids) }) as const;

Deno.test("ids as safetensors, with dead flags and requests", () =>
  inFolder(async (folder) => {
    const path = join(folder, "ids.safetensors");
    await writeSafetensors(path, [tokenIds(1, 2, 3, 4)]);
    assert.deepEqual(await readAll(path), plain([1, 2, 3, 4]));
    const dead = {
      name: "dead",
      dtype: "U8",
      shape: [4],
      data: Uint8Array.of(0, 5, 0, 1),
    } as const;
    for (const boundaries of [[0n, 1n, 1n, 4n], [0n, 1n, 1n]]) {
      const starts = {
        name: "starts",
        dtype: "I64",
        shape: [boundaries.length],
        data: BigInt64Array.from(boundaries),
      } as const;
      await writeSafetensors(path, [tokenIds(1, 2, 3, 4), dead, starts], { force: true });
      assert.deepEqual(await readAll(path), [
        { ids: [1], dead: [0] },
        { ids: [], dead: [] },
        { ids: [2, 3, 4], dead: [1, 0, 1] },
      ]);
    }
    await writeSafetensors(path, [tokenIds()], { force: true });
    assert.deepEqual(await readAll(path), plain([]));
  }));

Deno.test("safetensors whose tensors do not fit together are refused", () =>
  inFolder(async (folder) => {
    const path = join(folder, "ids.safetensors");
    const u8 = (name: string, ...data: number[]) =>
      ({ name, dtype: "U8", shape: [data.length], data: Uint8Array.from(data) }) as const;
    const bad = [
      [[u8("ids", 1)], /token_ids/],
      [[tokenIds(1, -2)], /found -2 at position 1/],
      [[tokenIds(1, 2), u8("dead", 1)], /dead is U8 \[1\], wanted U8 \[2\]/],
      [[tokenIds(1, 2), u8("starts", 0, 3)], /starts\[1\] is 3/],
      [[tokenIds(1, 2), u8("starts", 0, 2, 1)], /starts\[2\] is 1/],
      [[{ ...tokenIds(1, 2), shape: [1, 2] }], /token_ids is I32 \[1,2\]/],
      [[{ ...u8("token_ids", 1), dtype: "BOOL" as const }], /token_ids is BOOL/],
    ] as const;
    for (const [entries, message] of bad) {
      await writeSafetensors(path, [...entries], { force: true });
      await assert.rejects(readAll(path), (error: Error) => {
        assert.equal(error.name, "EngramError");
        assert.match(error.message, message);
        return true;
      });
    }
  }));

Deno.test("a file that is not there", async () => {
  await assert.rejects(openIds("/nowhere/ids.npy"), { name: "EngramError", kind: "unavailable" });
});
