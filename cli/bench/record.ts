/** Everything one `engram bench` run measured; what `--json` prints and `bench compare` reads. */
export interface BenchRecord {
  /** Version of this format. */
  readonly format: 1;
  /** Version of engram. */
  readonly engram: string;
  /** When the run began, ISO 8601. */
  readonly started: string;
  /** The command line, without the program's name. */
  readonly commandLine: readonly string[];
  /** Where it ran. */
  readonly machine: Machine;
  /** One entry for each case measured, baselines and ceilings among them. */
  readonly results: readonly BenchResult[];
}

/** The machine a benchmark ran on. */
export interface Machine {
  readonly os: string;
  readonly arch: string;
  readonly cpu: string;
  readonly cores: number;
  /** Bytes. */
  readonly memory: number;
  /** The GPU's name, where one was used. */
  readonly adapter: string | null;
  readonly deno: string;
}

/** One measured case. */
export interface BenchResult {
  /** What was measured: "hash", "lookup", … */
  readonly name: string;
  /** Which way it was done: "cpu", "gpu", "one by one", "numpy memmap", … */
  readonly variant: string;
  /** `baseline`: what the others are compared with; `ceiling`: what the machine allows. */
  readonly role: "case" | "baseline" | "ceiling";
  /** Sweep values and input kind. */
  readonly parameters: Readonly<Record<string, string | number>>;
  /** Work of one sample. */
  readonly work: Work;
  /** What the bytes count, in words. */
  readonly counted: string;
  /** What the time leaves out, in words. */
  readonly excluded: string;
  /** Wall time of each sample, seconds, in rising order; empty where only the GPU's clock was read. */
  readonly samples: readonly number[];
  /** GPU time of each sample by timestamps, seconds; null where there is none. */
  readonly gpuSamples: readonly number[] | null;
  /** Why this figure may flatter. */
  readonly warnings: readonly string[];
}

/** Work of one sample; null where a unit does not apply. */
export interface Work {
  readonly tokens: number | null;
  readonly rows: number | null;
  /** Distinct rows among `rows`. */
  readonly distinctRows: number | null;
  readonly bytes: number | null;
}
