/**
 * How much of the reading is hidden when the next batch's rows are read while this one is worked
 * on: `deno run -A tests/bench/prefetch_bench.ts`. Rows are known from the tokens alone, so that
 * `inOrder` asks for them a batch ahead, as `lookup` and `eval` do; threads read them meanwhile.
 *
 * @module
 */
import { openFile } from "../../lib/bytes/file_source.ts";
import { inOrder } from "../../lib/engram/in_order.ts";
import { decodeRecords } from "../../lib/table/decode_rows.ts";
import { rowEncoding } from "../../lib/table/row_encoding.ts";
import { spreadStore } from "../../lib/table/spread_store.ts";
import { table } from "../../cli/printer.ts";
import { seconds } from "../../cli/units.ts";

const ROWS = 2 ** 20;
const BATCH_ROWS = 2 ** 16;
const BATCHES = 12;
const ROUNDS = 5;

const encoding = rowEncoding("fp8", 256);
const { codeBytes, scaleBytes, recordBytes } = encoding;
const path = Deno.makeTempFileSync();
try {
  {
    using file = Deno.openSync(path, { write: true });
    const piece = new Uint8Array(2 ** 16);
    for (let at = 0; at < ROWS * recordBytes; at += piece.length) {
      file.writeSync(crypto.getRandomValues(piece));
    }
  }
  const source = openFile(path);
  const tensor = (name: string, dtype: "F8_E4M3" | "F8_E8M0", width: number, offset: number) => ({
    name,
    dtype,
    shape: [ROWS, width],
    offset,
    byteLength: ROWS * width,
    source,
  });
  const store = spreadStore({
    layerId: 1,
    encoding,
    rows: ROWS,
    packed: false,
    embed: {
      weight: tensor("codes", "F8_E4M3", codeBytes, 0),
      scale: tensor("scales", "F8_E8M0", scaleBytes, ROWS * codeBytes),
    },
  }, { workers: 1 });
  const batches = Array.from(
    { length: BATCHES },
    () => Int32Array.from({ length: BATCH_ROWS }, () => Math.floor(Math.random() * ROWS)),
  );
  const out = new Uint16Array(BATCH_ROWS * encoding.headDim);
  const read = async (ids: Int32Array) => {
    const records = new Uint8Array(ids.length * recordBytes);
    await store.readRecords(ids, records);
    return records;
  };
  const work = (records: Uint8Array) => decodeRecords(encoding, records, out);
  const timed = async (job: () => Promise<void>) => {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now();
      await job();
      times.push((performance.now() - start) / 1000);
    }
    return times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  };
  const sample = await read(batches[0]);
  const reading = await timed(async () => {
    for (const ids of batches) await read(ids);
  });
  const working = await timed(() => {
    for (let i = 0; i < BATCHES; i++) work(sample);
    return Promise.resolve();
  });
  const after = await timed(async () => {
    for (const ids of batches) work(await read(ids));
  });
  const ahead = await timed(async () => {
    for await (const records of inOrder(batches, read)) work(records);
  });
  store.close();
  source.close();
  const hidden = (after - ahead) / Math.min(reading, working);
  console.log(table(["job", "median"], [
    ["reading alone", seconds(reading)],
    ["working alone", seconds(working)],
    ["one after another", seconds(after)],
    ["read a batch ahead", seconds(ahead)],
  ]));
  console.log(`${(100 * hidden).toFixed(0)} % of the shorter of the two is hidden`);
} finally {
  Deno.removeSync(path);
}
