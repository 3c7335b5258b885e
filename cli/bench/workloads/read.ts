import { join } from "node:path";
import { openFile } from "../../../lib/bytes/file_source.ts";
import { OutputFile } from "../../../lib/bytes/output_file.ts";
import { quietVulkan } from "../../quiet_vulkan.ts";
import { benchCopy } from "../gpu/bench_copy.ts";
import { kernelResult } from "../gpu/kernel_result.ts";
import type { Measured } from "../gpu/report.ts";
import { dropPageCache } from "../drop_page_cache.ts";
import type { BenchResult } from "../record.ts";
import type { BenchRequest } from "../request.ts";
import { sample } from "../sample.ts";

const CHUNK = 8 * 2 ** 20;
/** Larger than last-level caches, small enough for any machine. */
const SPAN = 512 * 2 ** 20;

/** What this machine allows: copying in memory and on the GPU, reading a file through, warm and cold. */
export async function* readWorkload(request: BenchRequest): AsyncIterable<BenchResult> {
  yield await memoryCopy(request);
  yield* gpuCopy(request);
  yield* fileReads(request);
}

async function* gpuCopy(request: BenchRequest): AsyncIterable<BenchResult> {
  if (request.device === "cpu") return;
  quietVulkan();
  const { openKernels } = await import("../../../lib/gpu/open_kernels.ts");
  const { GpuKernels } = await import("../../../lib/gpu/gpu_kernels.ts");
  const { kernels, note } = await openKernels(request.device);
  try {
    if (!(kernels instanceof GpuKernels)) return request.note(note);
    if (!kernels.gpu.timestamps) {
      return request.note(`GPU copy: left out, ${kernels.description} has no timestamps`);
    }
    const measured: Measured[] = [];
    await benchCopy(kernels, { add: (one) => void measured.push(one) }, kernels.gpu.software);
    for (const one of measured) {
      yield { ...kernelResult(one, kernels.description), name: "read", variant: "GPU copy" };
    }
  } finally {
    kernels.close();
  }
}

/** Copies memory to memory; bytes count read and written, as memory bandwidth is quoted. */
export async function memoryCopy({ sampling }: BenchRequest): Promise<BenchResult> {
  const from = new Uint8Array(SPAN).fill(1);
  const to = new Uint8Array(SPAN).fill(2);
  return {
    name: "read",
    variant: "memory copy",
    role: "ceiling",
    parameters: { of: "memory" },
    work: { tokens: null, rows: null, distinctRows: null, bytes: 2 * SPAN },
    counted: "bytes read and written",
    excluded: "allocating",
    samples: await sample(() => to.set(from), sampling),
    gpuSamples: null,
    warnings: [],
  };
}

/** Reads a file of its own through in 8 MiB pieces. */
async function* fileReads(request: BenchRequest): AsyncIterable<BenchResult> {
  const path = join(request.scratch, "read.bin");
  using output = OutputFile.create(path, { size: SPAN });
  const piece = crypto.getRandomValues(new Uint8Array(65_536));
  for (let at = 0; at < SPAN; at += piece.length) output.write(piece);
  output.commit();
  const source = openFile(path);
  const buffer = new Uint8Array(CHUNK);
  const readThrough = () => {
    for (let at = 0; at < SPAN; at += CHUNK) source.readSync(buffer, at);
  };
  try {
    for (const cache of request.cache) {
      if (cache === "cold" && !dropPageCache(path)) {
        request.note(
          "read, cold: left out, the page cache cannot be dropped here (needs --allow-ffi, Linux)",
        );
        continue;
      }
      yield {
        name: "read",
        variant: `file, 8 MiB at a time, ${cache}`,
        role: "ceiling",
        parameters: { of: `file ${cache}` },
        work: { tokens: null, rows: null, distinctRows: null, bytes: SPAN },
        counted: "bytes of the file",
        excluded: cache === "cold" ? "dropping the page cache" : "writing the file",
        samples: await sample(() => {
          if (cache === "cold") dropPageCache(path);
          const start = performance.now();
          readThrough();
          return (performance.now() - start) / 1000;
        }, request.sampling),
        gpuSamples: null,
        warnings: [],
      };
    }
  } finally {
    source.close();
    Deno.removeSync(path);
  }
}
