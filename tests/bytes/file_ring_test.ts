import { deepEqual, throws } from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import { FileRing } from "../../lib/bytes/file_ring.ts";
import { openFile } from "../../lib/bytes/file_source.ts";
import { Random } from "../kernels/random.ts";
import { inFolder } from "./in_folder.ts";

const SIZE = 300_000;
const BYTES = new Random(1).bytes(SIZE);
const PIECE = 37;

/** Pieces all over the file, their places shuffled, and what must come of them. */
function pieces(count: number, offsetOf: (i: number) => number) {
  const offsets = Float64Array.from({ length: count + 3 }, (_, i) => offsetOf(i));
  const places = Float64Array.from({ length: count + 3 }, (_, i) => (count - 1 - i) * (PIECE + 2));
  const wanted = new Uint8Array(count * (PIECE + 2));
  for (let i = 0; i < count; i++) {
    wanted.set(BYTES.subarray(offsets[i], offsets[i] + PIECE), places[i]);
  }
  return { asked: { offsets, places, count, bytes: PIECE }, wanted };
}

/** Gives the test a ring, or says why it cannot run: systems may forbid io_uring. */
function withRing(test: (ring: FileRing) => void): () => Promise<void> {
  return () =>
    inFolder((folder) => {
      Deno.writeFileSync(`${folder}/file`, BYTES);
      const file = openSync(`${folder}/file`, "r");
      try {
        const ring = FileRing.open(file);
        if (!ring) return console.log("not run: this system gives no io_uring");
        try {
          test(ring);
        } finally {
          ring.close();
        }
      } finally {
        closeSync(file);
      }
    });
}

Deno.test(
  "a ring reads pieces in any order, more than it holds, into shared memory too",
  withRing((ring) => {
    for (const count of [0, 1, 511, 512, 513, 3000]) {
      const { asked, wanted } = pieces(count, (i) => (i * 7919) % (SIZE - PIECE));
      const into = new Uint8Array(wanted.length);
      deepEqual(ring.read(into, asked), []);
      deepEqual(into, wanted);
      const shared = new Uint8Array(new SharedArrayBuffer(wanted.length));
      deepEqual(ring.read(shared, asked), []);
      deepEqual(shared.slice(), wanted);
    }
  }),
);

Deno.test(
  "a ring reads into arrays as small as the engine keeps in its own heap",
  withRing((ring) => {
    const offsets = Float64Array.from({ length: 40 }, (_, i) => i * 7);
    const places = offsets.map((_, i) => i);
    const small = new Uint8Array(40);
    deepEqual(ring.read(small, { offsets, places, count: 40, bytes: 1 }), []);
    deepEqual(small, Uint8Array.from(offsets, (offset) => BYTES[offset]));
  }),
);

Deno.test(
  "a ring says which pieces the file does not hold",
  withRing((ring) => {
    const offsets = Float64Array.of(0, SIZE - PIECE + 1, 5, SIZE, SIZE - PIECE, 2 ** 40);
    const places = offsets.map((_, i) => i * PIECE);
    const into = new Uint8Array(offsets.length * PIECE);
    const failed = ring.read(into, { offsets, places, count: 6, bytes: PIECE });
    deepEqual(failed.sort(), [1, 3, 5]);
    for (const i of [0, 2, 4]) {
      const piece = into.subarray(places[i], places[i] + PIECE);
      deepEqual(piece, BYTES.subarray(offsets[i], offsets[i] + PIECE));
    }
  }),
);

for (const ffi of [true, false]) {
  Deno.test({
    name: `a file's pieces come whole ${ffi ? "with" : "without"} --allow-ffi, or as an error`,
    permissions: { read: true, write: true, env: true, ffi },
    fn: () =>
      inFolder((folder) => {
        const path = `${folder}/file`;
        Deno.writeFileSync(path, BYTES);
        const source = openFile(path);
        for (const count of [0, 3, 1000]) {
          const { asked, wanted } = pieces(count, (i) => (i * 104_729) % (SIZE - PIECE));
          const into = new Uint8Array(wanted.length);
          source.readPieces!(into, asked);
          deepEqual(into, wanted);
        }
        const past = pieces(20, () => SIZE - PIECE + 1);
        throws(() => source.readPieces!(new Uint8Array(past.wanted.length), past.asked), {
          name: "EngramError",
        });
        Deno.truncateSync(path, SIZE / 2);
        const cut = pieces(20, () => SIZE / 2 - 1);
        throws(() => source.readPieces!(new Uint8Array(cut.wanted.length), cut.asked), {
          name: "EngramError",
          kind: "unavailable",
          message: /ended at byte 150000/,
        });
        for (const place of [-1, 0.5, NaN, cut.wanted.length - PIECE + 1]) {
          const beside = { ...cut.asked, offsets: new Float64Array(20) };
          beside.places[19] = place;
          throws(() => source.readPieces!(new Uint8Array(cut.wanted.length), beside), {
            message: /\(memory\)/,
          });
        }
        source.close();
        throws(() => source.readPieces!(new Uint8Array(1), pieces(0, () => 0).asked), {
          message: /closed/,
        });
      }),
  });
}
