import { CpuKernels } from "../engram/cpu_kernels.ts";
import type { GateInput, GateWeights, Kernels, ProjectionWeights } from "../engram/kernels.ts";
import { buildLayout } from "../layout/build_layout.ts";
import { rowEncoding } from "../table/row_encoding.ts";

/**
 * Runs one small batch through every kernel and compares with the CPU: a driver that computes
 * wrongly must not get to real data. Gives what differs, or undefined.
 */
export async function selfTest(kernels: Kernels): Promise<string | undefined> {
  const cpu = new CpuKernels();
  const random = generator(2026);
  for (const [name, differs] of Object.entries(TESTS)) {
    const what = await differs(kernels, cpu, random);
    if (what) return `${name}: ${what}`;
  }
  return undefined;
}

type Random = (below: number) => number;
type Test = (found: Kernels, wanted: Kernels, random: Random) => Promise<string | undefined>;

const TOKENS = 37;

const TESTS: Readonly<Record<string, Test>> = {
  async hash(gpu, cpu, random) {
    // Primes of 24 bits, which have a kernel of their own, and smaller ones.
    for (const vocabSize of [16_000_000, 97]) {
      const layout = buildLayout({
        where: "self-test",
        layerIds: [1, 14],
        maxNgramSize: 4,
        nHeads: 8,
        vocabSize,
        compressedVocabSize: 99_092,
      });
      const batch = {
        ids: Int32Array.from({ length: TOKENS }, () => random(99_092)),
        positions: Int32Array.from({ length: TOKENS }, (_, i) => i),
        starts: Int32Array.of(0, TOKENS),
        dead: Uint8Array.from({ length: TOKENS }, () => (random(8) === 0 ? 1 : 0)),
        windowDepth: 0,
      };
      const wanted = await cpu.hash(layout, 1, batch);
      const differs = unequal(await gpu.hash(layout, 1, batch), wanted);
      if (differs) return differs;
    }
    return undefined;
  },
  async lookup(gpu, cpu, random) {
    // Every code, under scales of every kind.
    const scaleBytes = [0, 1, 9, 10, 100, 127, 128, 245, 246, 254, 255];
    const rows = scaleBytes.length;
    const table = {
      encoding: rowEncoding("fp8", 256),
      codes: Uint8Array.from({ length: rows * 256 }, (_, i) => i),
      scales: Uint8Array.from({ length: rows * 8 }, (_, i) => scaleBytes[(i >> 3) % rows]),
      rowStart: 5,
      rows,
    };
    const input = {
      tokens: TOKENS,
      columns: 3,
      ids: Int32Array.from({ length: TOKENS * 3 }, () => random(rows + 10)),
      local: [1, 2, 3],
    };
    const wanted = await cpu.lookup(table, input);
    const found = await gpu.lookup(table, input);
    const at = found.findIndex((bits, i) =>
      bits !== wanted[i] && !((bits & 0x7fff) > 0x7f80 && (wanted[i] & 0x7fff) > 0x7f80)
    );
    return at < 0 ? undefined : `value ${at} is ${found[at]}, on the CPU ${wanted[at]}`;
  },
  async project(gpu, cpu, random) {
    // Sizes of whole vectors, and odd ones, whose rows have to be moved.
    for (const [outFeatures, inFeatures] of [[160, 512], [35, 40]]) {
      const weights: ProjectionWeights = {
        outFeatures,
        inFeatures,
        codes: Uint8Array.from({ length: outFeatures * inFeatures }, () => random(256)).map((
          code,
        ) => (code & 0x7f) === 0x7f ? 0 : code),
        scales: Uint8Array.from(
          { length: Math.ceil(outFeatures / 32) * Math.ceil(inFeatures / 32) },
          () => 115 + random(10),
        ),
        block: [32, 32],
      };
      for (const tokens of [1, 70]) {
        const rows = Uint16Array.from({ length: tokens * inFeatures }, () => ordinary(random));
        const wanted = await cpu.project(weights, rows, tokens);
        const differs = farApart(await gpu.project(weights, rows, tokens), wanted);
        if (differs) return `${tokens} tokens, ${outFeatures} × ${inFeatures}, ${differs}`;
      }
    }
    return undefined;
  },
  async gate(gpu, cpu, random) {
    // The kernel for multiples of 8, and the one for all.
    for (const hidden of [320, 35]) {
      const values = (length: number) => Uint16Array.from({ length }, () => ordinary(random));
      const copies = 2;
      const weights: GateWeights = {
        hidden,
        copies,
        q: values(copies * hidden),
        k: values(copies * hidden),
        eps: 1e-20,
      };
      const input: GateInput = {
        tokens: TOKENS,
        stream: values(TOKENS * copies * hidden),
        kv: values(TOKENS * (copies + 1) * hidden),
        mask: Uint8Array.from({ length: TOKENS }, () => random(2)),
      };
      const wanted = await cpu.gate(weights, input);
      const found = await gpu.gate(weights, input);
      const at = found.gate.findIndex((g, i) => !(Math.abs(g - wanted.gate[i]) <= 1e-5));
      if (at >= 0) return `gate ${at} is ${found.gate[at]}, on the CPU ${wanted.gate[at]}`;
      const differs = farApart(found.output, wanted.output);
      if (differs) return differs;
    }
    return undefined;
  },
  async relay(gpu, cpu, random) {
    const sizes = { tp: 3, rank: 1, tokens: 10, localColumns: 2, columns: 5, headDim: 6 };
    const gathered = Uint16Array.from({ length: 3 * 10 * 2 * 6 }, () => random(65536));
    const wanted = await cpu.relay({ ...sizes, gathered });
    return unequal(await gpu.relay({ ...sizes, gathered }), wanted);
  },
};

function unequal(found: ArrayLike<number>, wanted: ArrayLike<number>): string | undefined {
  for (let i = 0; i < Math.max(found.length, wanted.length); i++) {
    if (found[i] !== wanted[i]) return `value ${i} is ${found[i]}, on the CPU ${wanted[i]}`;
  }
  return undefined;
}

/** bf16 values more than a few steps apart, or too many a step apart. */
function farApart(found: Uint16Array, wanted: Uint16Array): string | undefined {
  let apart = 0;
  for (let i = 0; i < wanted.length; i++) {
    const steps = Math.abs(ordered(found[i]) - ordered(wanted[i]));
    // Sums that nearly cancel have few right bits left; whole errors are far larger.
    if (!(steps <= 256)) return `value ${i} is ${found[i]}, on the CPU ${wanted[i]} (bf16 bits)`;
    if (steps > 0) apart++;
  }
  return apart * 20 > wanted.length ? `${apart} of ${wanted.length} values differ` : undefined;
}

function ordered(bits: number): number {
  return bits & 0x8000 ? -(bits & 0x7fff) : bits;
}

/** bf16 bits of a value between 1/8 and 2, either sign. */
function ordinary(random: Random): number {
  return (random(2) << 15) | ((124 + random(4)) << 7) | random(128);
}

/** The same integers on every run, each below the bound given. */
function generator(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}
