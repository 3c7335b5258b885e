import { join } from "node:path";
import type { Layout } from "../../lib/layout/layout.ts";
import type { BenchRequest } from "./request.ts";
import { runPython } from "./run_python.ts";

/** Times the hash of one request as numpy computes it over whole arrays; prints seconds. */
const SCRIPT = `
import json, sys, time
import numpy as np
spec = json.load(open(sys.argv[1]))
ids = np.fromfile(spec["ids"], dtype=np.int32)
layers = [(np.array([int(m) for m in l["multipliers"]], dtype=np.int64),
           [np.array(p, dtype=np.int64) for p in l["primes"]],
           np.array(l["offsets"], dtype=np.int64)) for l in spec["layers"]]
columns, heads, pad = spec["columns"], spec["heads"], spec["pad"]
def run():
    out = np.empty((len(ids), len(layers), columns), dtype=np.int32)
    for index, (multipliers, primes, offsets) in enumerate(layers):
        rolling = ids * multipliers[0]
        for s in range(1, len(multipliers)):
            back = np.full(len(ids), pad, dtype=np.int64)
            back[s:] = ids[:len(ids) - s] if s < len(ids) else back[s:]
            rolling = rolling ^ (back * multipliers[s])
            at = (s - 1) * heads
            rows = rolling[:, None] % primes[s - 1] + offsets[at:at + heads]
            out[:, index, at:at + heads] = rows
    return out
seconds = []
for i in range(spec["warmup"] + spec["samples"]):
    start = time.perf_counter()
    out = run()
    if i >= spec["warmup"]:
        seconds.append(time.perf_counter() - start)
out.tofile(spec["out"])
print(json.dumps(sorted(seconds)))
`;

/** numpy's samples of hashing the same ids, and what it gives; null where Python or numpy is missing. */
export async function numpyHash(
  layout: Layout,
  padId: number,
  ids: Int32Array,
  request: BenchRequest,
): Promise<{ samples: number[]; hashed: Int32Array } | null> {
  const [path, out] = ["ids.bin", "hashed.bin"].map((name) => join(request.scratch, name));
  Deno.writeFileSync(path, new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
  const samples = await runPython(SCRIPT, {
    ids: path,
    out,
    columns: layout.columns,
    heads: layout.nHeads,
    pad: padId,
    layers: layout.layers.map(({ multipliers, primes, offsets }) => ({
      multipliers: multipliers.map(String),
      primes,
      offsets,
    })),
  }, request);
  return samples && { samples, hashed: new Int32Array(Deno.readFileSync(out).buffer) };
}
