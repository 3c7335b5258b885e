import { Buffer } from "node:buffer";
import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import fc from "fast-check";
import { openFile } from "../../lib/bytes/file_source.ts";
import { memorySource } from "../../lib/bytes/memory_source.ts";
import { type Dtype, DTYPE_BITS } from "../../lib/safetensors/dtype.ts";
import { planFile } from "../../lib/safetensors/plan_file.ts";
import { readTensor, streamTensor } from "../../lib/safetensors/read_tensor.ts";
import { openSafetensors } from "../../lib/safetensors/safetensors_file.ts";
import { SafetensorsWriter } from "../../lib/safetensors/safetensors_writer.ts";
import { type TensorEntry, writeSafetensors } from "../../lib/safetensors/writer.ts";
import { inFolder, namesIn } from "../bytes/in_folder.ts";
import { goldenPath } from "../golden/golden_data.ts";

const A = { name: "a", dtype: "U8", shape: [4] } as const;

/** Files that the Python library wrote. */
const GOLDEN = ["hashes", "rows_and_gates", "mini/expected"].concat(
  ["1", "2"].map((n) => `mini/model-0000${n}-of-00002`),
);

for (const name of GOLDEN) {
  Deno.test(`rewriting ${name}.safetensors gives the reference library's bytes`, () =>
    inFolder(async (folder) => {
      const path = goldenPath(`${name}.safetensors`);
      const file = await openSafetensors(openFile(path));
      const entries = [...file.tensors.values()].reverse().map((tensor) => ({
        ...tensor,
        data: () => streamTensor(tensor, { chunkBytes: 1000 }),
      }));
      const size = await writeSafetensors(`${folder}/again`, entries, { metadata: file.metadata });
      file.close();
      const wanted = Deno.readFileSync(path);
      equal(size, wanted.length);
      equal(Buffer.compare(Deno.readFileSync(`${folder}/again`), wanted), 0);
    }));
}

Deno.test("the order is the reference library's: alignment of the dtype, then code points", () => {
  // Written out by hand from the order of the dtypes in the reference library 0.8.0.
  const order: Dtype[] = ["U64", "I64", "F64", "C64", "F32", "U32", "I32", "BF16", "F16", "U16"];
  order.push("I16", "F8_E5M2FNUZ", "F8_E4M3FNUZ", "F8_E8M0", "F8_E4M3", "F8_E5M2", "I8", "U8");
  order.push("F6_E3M2", "F6_E2M3", "F4", "BOOL");
  equal(order.length, Object.keys(DTYPE_BITS).length);
  const specs = order.map((dtype) => ({ name: dtype, dtype, shape: [8] }));
  deepEqual([...planFile(specs.toSorted()).spans.keys()], order);
  // By UTF-16 units the fox would come before U+FFFD.
  const spelled = ["", "A", "B", "a", "a1", "a10", "a2", "é", "\ufffd", "🦊"];
  const same = spelled.toReversed().map((name) => ({ name, dtype: "U8" as const, shape: [1] }));
  deepEqual([...planFile(same).spans.keys()], spelled);
});

Deno.test("the header is padded with spaces to a multiple of 8", () => {
  for (let length = 0; length < 20; length++) {
    const { header } = planFile([{ name: "n".repeat(length), dtype: "U8", shape: [] }]);
    equal(header.length % 8, 0);
    const text = new TextDecoder().decode(header.subarray(8));
    equal(text.trimEnd().endsWith("}}"), true);
    equal(text.length - text.trimEnd().length < 8, true);
  }
});

Deno.test("what cannot be written is refused before any file is made", () =>
  inFolder(async (folder) => {
    const refused: [readonly TensorEntry[], RegExp][] = [
      [[{ ...A, data: new Uint8Array(4) }, { ...A, data: new Uint8Array(4) }], /second tensor/],
      [[{ ...A, name: "__metadata__", data: new Uint8Array(4) }], /name kept for metadata/],
      [[{ ...A, name: "\ud83e", data: new Uint8Array(4) }], /half of a surrogate pair/],
      [[{ ...A, shape: [-4], data: new Uint8Array(4) }], /wanted a shape of whole bytes/],
      [[{ ...A, shape: [1.5], data: new Uint8Array(4) }], /wanted a shape of whole bytes/],
      [[{ ...A, shape: [NaN], data: new Uint8Array(4) }], /wanted a shape of whole bytes/],
      [[{ ...A, shape: [2 ** 40, 2 ** 40], data: new Uint8Array(4) }], /wanted a shape/],
      [[{ ...A, dtype: "F4", shape: [3], data: new Uint8Array(2) }], /wanted a shape of whole/],
    ];
    for (const [entries, message] of refused) {
      await rejects(writeSafetensors(`${folder}/x`, entries), { kind: "usage", message });
    }
    await rejects(
      writeSafetensors(`${folder}/x`, [{ ...A, data: new Uint8Array(4) }], {
        metadata: { a: "\udd8a" },
      }),
      { kind: "usage", message: /half of a surrogate pair/ },
    );
    deepEqual(namesIn(folder), []);
  }));

Deno.test("data that is too short, too long, fails or is stopped leaves no file", () =>
  inFolder(async (folder) => {
    const path = `${folder}/x`;
    const write = (data: TensorEntry["data"], signal?: AbortSignal) =>
      writeSafetensors(path, [{ ...A, data }], signal ? { signal } : {});
    await rejects(write(new Uint8Array(3)), { message: /found 3 bytes of data, wanted 4/ });
    await rejects(write(new Uint8Array(5)), {
      message: /found 5 bytes of data, wanted 4/,
    });
    await rejects(
      write(function* () {
        yield new Uint8Array(2);
        throw new Error("the stream failed");
      }),
      { message: "the stream failed" },
    );
    const stop = new AbortController();
    await rejects(
      write(function* () {
        yield new Uint8Array(2);
        stop.abort();
        yield new Uint8Array(2);
      }, stop.signal),
      { kind: "interrupted" },
    );
    deepEqual(namesIn(folder), []);
  }));

Deno.test("a signal reaches a stream whose reads never wait", async () => {
  const instant = { ...memorySource(new Uint8Array(0)), size: 2 ** 45, read: async () => {} };
  const tensor = { ...A, shape: [2 ** 45], byteLength: 2 ** 45, offset: 0, source: instant };
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  await rejects(
    async () => {
      for await (const _ of streamTensor(tensor, { chunkBytes: 1024, signal: stop.signal }));
    },
    { kind: "interrupted" },
  );
});

Deno.test("tensors in pieces and in any order make the same file as whole ones", () =>
  inFolder(async (folder) => {
    const b = { name: "b", dtype: "I32", shape: [2] } as const;
    await writeSafetensors(`${folder}/whole`, [
      { ...A, data: new Uint8Array([1, 2, 3, 4]) },
      { ...b, data: new Int32Array([5, 6]) },
    ], { metadata: { kind: "test" } });
    using writer = SafetensorsWriter.create(`${folder}/pieces`, [b, A], {
      metadata: new Map([["kind", "test"]]),
    });
    writer.append("a", new Uint8Array([1, 2]));
    writer.append("b", new Uint8Array(new Int32Array([5, 6]).buffer));
    writer.append("a", new Uint8Array([3, 4]));
    throws(() => writer.append("c", new Uint8Array(1)), { message: /"c": not planned/ });
    writer.commit();
    equal(writer.size, Deno.statSync(`${folder}/pieces`).size);
    deepEqual(Deno.readFileSync(`${folder}/pieces`), Deno.readFileSync(`${folder}/whole`));
  }));

Deno.test("what is written reads back equal, whatever the names, types, shapes and order", () =>
  inFolder(async (folder) => {
    const tensor = fc.record({
      name: fc.string({ unit: "binary" }).filter((name) => name !== "__metadata__"),
      dtype: fc.constantFrom(...Object.keys(DTYPE_BITS) as Dtype[]),
      shape: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 }).map((s) => [8, ...s]),
      seed: fc.nat(255),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(tensor, { maxLength: 8, selector: (t) => t.name }),
        fc.dictionary(fc.string({ unit: "binary" }), fc.string({ unit: "binary" })),
        async (tensors, metadata) => {
          const entries = tensors.map((t) => {
            const bits = t.shape.reduce((a, b) => a * b, DTYPE_BITS[t.dtype]);
            return { ...t, data: Uint8Array.from({ length: bits / 8 }, (_, i) => i * 7 + t.seed) };
          });
          await writeSafetensors(`${folder}/a`, entries, { metadata, force: true });
          await writeSafetensors(`${folder}/b`, entries.toReversed(), { metadata, force: true });
          const bytes = Deno.readFileSync(`${folder}/a`);
          equal(Buffer.compare(Deno.readFileSync(`${folder}/b`), bytes), 0);
          const file = await openSafetensors(memorySource(bytes));
          deepEqual(new Map(file.metadata), new Map(Object.entries(metadata)));
          equal(file.tensors.size, entries.length);
          for (const { name, dtype, shape, data } of entries) {
            const read = file.tensor(name);
            deepEqual([read.dtype, read.shape], [dtype, shape]);
            deepEqual(await readTensor(read), data);
          }
        },
      ),
      { numRuns: 100 },
    );
  }));
