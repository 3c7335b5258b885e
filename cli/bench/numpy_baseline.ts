import { join } from "node:path";
import { fp8Products } from "../../lib/table/fp8.ts";
import { tableParts } from "../../lib/table/table_parts.ts";
import type { BenchTable } from "./bench_table.ts";
import type { BenchRequest } from "./request.ts";
import { runPython } from "./run_python.ts";

/**
 * Times `table[ids]` on memory maps of the same bytes, and decoding what it gives where there is a
 * table of products: some rows at a time, since whole arrays of indexes would fall out of the cache.
 */
const SCRIPT = `
import json, sys, time
import numpy as np
spec = json.load(open(sys.argv[1]))
ids = np.fromfile(spec["ids"], dtype=np.int32)
maps = [np.memmap(p["path"], dtype=np.uint8, mode="r", offset=p["offset"],
                  shape=(spec["rows"], p["bytes"])) for p in spec["parts"]]
dim = spec["headDim"]
products = np.fromfile(spec["products"], dtype=np.uint16) if spec["products"] else None
out = np.zeros((len(ids), dim), dtype=np.uint16)
def decode(rows, into):
    codes, scales = rows if len(rows) == 2 else (rows[0][:, :dim], rows[0][:, dim:])
    high = np.repeat(scales.astype(np.uint16) << 8, 32, axis=1)[:, :dim]
    np.take(products, high | codes, out=into, mode="clip")
def run():
    if products is None:
        for m in maps:
            m[ids]
    else:
        for first in range(0, len(ids), 1024):
            some = ids[first:first + 1024]
            decode([m[some] for m in maps], out[first:first + 1024])
seconds = []
for i in range(spec["warmup"] + spec["samples"]):
    start = time.perf_counter()
    run()
    if i >= spec["warmup"]:
        seconds.append(time.perf_counter() - start)
out.tofile(spec["out"])
print(json.dumps(sorted(seconds)))
`;

/** What numpy took for the rows of `ids`, and what it gives. */
export interface NumpyRows {
  /** Seconds, ascending. */
  readonly samples: number[];
  /** bf16 bits [ids, headDim]; zeros unless decoded. */
  readonly rows: Uint16Array;
}

/**
 * numpy's samples of gathering the same rows, and of decoding them (fp8 only); null, with a note, where
 * Python or numpy is missing.
 */
export async function numpyRows(
  { table }: BenchTable,
  ids: Int32Array,
  request: BenchRequest,
  decode: boolean,
): Promise<NumpyRows | null> {
  const at = (name: string) => join(request.scratch, name);
  const [idsPath, products, out] = [at("ids.bin"), at("products.bin"), at("rows.bin")];
  Deno.writeFileSync(idsPath, new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
  Deno.writeFileSync(products, new Uint8Array(fp8Products().buffer));
  const parts = tableParts(table).map(({ source, offset, bytes }) => ({
    path: source.name,
    offset,
    bytes,
  }));
  const { rows, encoding: { headDim } } = table;
  const spec = { ids: idsPath, out, rows, headDim, parts, products: decode ? products : null };
  const samples = await runPython(SCRIPT, spec, request);
  return samples && { samples, rows: new Uint16Array(Deno.readFileSync(out).buffer) };
}
