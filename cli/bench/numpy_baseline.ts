import { join } from "node:path";
import { tableParts } from "../../lib/table/table_parts.ts";
import type { BenchTable } from "./bench_table.ts";
import type { BenchRequest } from "./request.ts";

/** Times `table[ids]` on memory maps of the same bytes; prints seconds as a JSON array. */
const SCRIPT = `
import json, sys, time
import numpy as np
spec = json.load(open(sys.argv[1]))
ids = np.fromfile(spec["ids"], dtype=np.int32)
maps = [np.memmap(p["path"], dtype=np.uint8, mode="r", offset=p["offset"],
                  shape=(spec["rows"], p["bytes"])) for p in spec["parts"]]
seconds = []
for i in range(spec["warmup"] + spec["samples"]):
    start = time.perf_counter()
    for m in maps:
        np.ascontiguousarray(m[ids])
    if i >= spec["warmup"]:
        seconds.append(time.perf_counter() - start)
print(json.dumps(sorted(seconds)))
`;

/** numpy's samples of gathering the same rows; null, with a note, where Python or numpy is missing. */
export async function numpySamples(
  table: BenchTable,
  ids: Int32Array,
  request: BenchRequest,
): Promise<number[] | null> {
  const idsPath = join(request.scratch, "ids.bin");
  const specPath = join(request.scratch, "numpy.json");
  Deno.writeFileSync(idsPath, new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
  const parts = tableParts(table.table).map(({ source, offset, bytes }) => ({
    path: source.name,
    offset,
    bytes,
  }));
  const { warmup, samples } = request.sampling;
  Deno.writeTextFileSync(
    specPath,
    JSON.stringify({ ids: idsPath, rows: table.table.rows, parts, warmup, samples }),
  );
  try {
    const { success, stdout, stderr } = await new Deno.Command("python3", {
      args: ["-c", SCRIPT, specPath],
      signal: request.sampling.signal,
    }).output();
    if (success) return JSON.parse(new TextDecoder().decode(stdout)) as number[];
    const reason = new TextDecoder().decode(stderr).trim().split("\n").at(-1);
    request.note(`numpy: left out, ${reason}`);
  } catch (error) {
    request.note(`numpy: left out, ${(error as Error).message}`);
  }
  return null;
}
