import { NgramHasher } from "../../../lib/hash/ngram_hasher.ts";
import { decodeRecords } from "../../../lib/table/decode_rows.ts";
import type { RowStore } from "../../../lib/table/row_store.ts";
import { benchIds } from "../bench_ids.ts";
import { type BenchTable, benchTable } from "../bench_table.ts";
import { dropPageCache } from "../drop_page_cache.ts";
import { oneRequest } from "../one_request.ts";
import { distinct } from "../id_streams.ts";
import { numpySamples } from "../numpy_baseline.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";
import { sample } from "../sample.ts";
import { openBackend } from "../backends.ts";
import { memoryCopy } from "./read.ts";

/** Rows of one layer by hashed ids to bf16 in memory, from each backend, warm and cold. */
export async function* lookupWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  yield await memoryCopy(request);
  using table = await benchTable(request);
  for (const tokens of request.tokens) {
    for (const kind of request.ids) {
      const { ids, warnings } = await benchIds(
        request,
        kind,
        tokens,
        table.layout.compressedVocabSize,
      );
      const rows = new NgramHasher(table.layout, 0).hash(oneRequest(ids));
      for (const cache of request.cache) {
        yield* cases(request, table, rows, { tokens, ids: kind, cache }, warnings);
      }
    }
  }
}

async function* cases(
  request: BenchRequest,
  table: BenchTable,
  ids: Int32Array,
  parameters: { tokens: number; ids: string; cache: "warm" | "cold" },
  warnings: string[],
): AsyncIterable<BenchResult> {
  const cold = parameters.cache === "cold";
  if (cold && !table.paths.every(dropPageCache)) {
    return request.note(
      "lookup, cold: left out, the page cache cannot be dropped here (needs --allow-ffi, Linux)",
    );
  }
  const { encoding } = table.table;
  const work = {
    tokens: parameters.tokens,
    rows: ids.length,
    distinctRows: distinct(ids),
    bytes: ids.length * (encoding.recordBytes + 4 + encoding.headDim * 2),
  };
  const shared = {
    name: "lookup",
    work,
    parameters: { ...parameters, of: "memory" },
    counted:
      `${encoding.recordBytes} bytes read, 4 of id and ${encoding.headDim * 2} written a row, ` +
      "asked for, one layer",
    gpuSamples: null,
    warnings,
  };
  const records = new Uint8Array(ids.length * encoding.recordBytes);
  const out = new Uint16Array(ids.length * encoding.headDim);
  const timed = async (paths: readonly string[], read: () => Promise<void>) => {
    if (cold) paths.forEach(dropPageCache);
    const start = performance.now();
    await read();
    decodeRecords(encoding, records, out);
    return (performance.now() - start) / 1000;
  };
  const excluded = `hashing${cold ? ", dropping the page cache" : ""}`;
  for (const backend of request.backends) {
    // Cached pages say nothing about rows that are not read from a file.
    if (cold && backend === "memory") continue;
    using opened = await openBackend(backend, table, request);
    if (!opened) continue;
    const { store, paths } = opened;
    yield {
      ...shared,
      variant: store.place,
      role: "case",
      excluded,
      samples: await sample(
        () => timed(paths, () => store.readRecords(ids, records)),
        request.sampling,
      ),
    };
  }
  using plain = await openBackend("file", table, request);
  yield {
    ...shared,
    variant: "file, one by one",
    role: "baseline",
    excluded,
    samples: await sample(
      () => timed(table.paths, () => oneByOne(plain!.store, ids, records)),
      request.sampling,
    ),
  };
  if (request.python && !cold) {
    const samples = await numpySamples(table, ids, request);
    if (samples) {
      yield {
        ...shared,
        variant: "numpy memmap indexing, codes and scales, not decoded",
        role: "case",
        excluded: `${excluded}, decoding`,
        samples,
      };
    }
  }
}

/** As a naive port reads: every row of every token by itself, in the order asked for. */
async function oneByOne(store: RowStore, ids: Int32Array, records: Uint8Array): Promise<void> {
  const { recordBytes } = store.encoding;
  for (let i = 0; i < ids.length; i++) {
    await store.readRecords(
      ids.subarray(i, i + 1),
      records.subarray(i * recordBytes, (i + 1) * recordBytes),
    );
  }
}
