import type { AdapterDescription } from "../lib/gpu/describe_adapter.ts";
import { table } from "./printer.ts";
import { quietVulkan } from "./quiet_vulkan.ts";
import { bytes, count } from "./units.ts";

/** Permissions the commands use, and for what. */
const PERMISSIONS = {
  read: "checkpoints, tokenizers, texts and ids",
  write: "output files (--out, shard, convert, demo)",
  net: "checkpoints behind https:// and hf://",
  env: "the native tokenizer, tokens and caches of the hub, NO_COLOR",
  ffi: "the native tokenizer, memory maps, many rows of a file at once",
} as const;

/** One thing a user may want to run. */
export interface Job {
  /** What. */
  readonly job: string;
  /** Whether it will run here as it is. */
  readonly runs: boolean;
  /** On what, or why not. */
  readonly why: string;
  /** How to make it run. */
  readonly hint: string | null;
}

/** What `engram doctor` finds. */
export interface DoctorReport {
  /** The runtime. */
  readonly deno: { version: string; v8: string; platform: string };
  /** The GPU, or null. */
  readonly adapter: AdapterDescription | null;
  /** State of each permission. */
  readonly permissions: Record<string, string>;
  /** What will run here, and why not. */
  readonly jobs: Job[];
}

/** Looks at the runtime, its permissions and, unless the CPU is asked for, the GPU. */
export async function doctorReport(device: "auto" | "gpu" | "cpu"): Promise<DoctorReport> {
  const adapter = device === "cpu" ? NOT_LOOKED_FOR : await describe();
  const permissions: Record<string, string> = {};
  for (const name of Object.keys(PERMISSIONS) as (keyof typeof PERMISSIONS)[]) {
    permissions[name] = (await Deno.permissions.query({ name })).state;
  }
  return {
    deno: {
      version: Deno.version.deno,
      v8: Deno.version.v8,
      platform: `${Deno.build.os} ${Deno.build.arch}`,
    },
    adapter: typeof adapter === "string" ? null : adapter,
    permissions,
    jobs: jobsOf(adapter, permissions),
  };
}

const NOT_LOOKED_FOR = "not looked for, with --device cpu";

async function describe(): Promise<AdapterDescription | string> {
  quietVulkan();
  const { describeAdapter } = await import("../lib/gpu/describe_adapter.ts");
  return await describeAdapter();
}

function jobsOf(adapter: AdapterDescription | string, permissions: Record<string, string>): Job[] {
  return [
    gpuJob(adapter),
    { job: "kernels on the CPU", runs: true, why: "always", hint: null },
    permitted("read checkpoints and texts", permissions, ["read"]),
    permitted("write results", permissions, ["write"]),
    permitted("open https:// and hf:// locations", permissions, ["net"]),
    permitted(
      "tokenize with the native library",
      permissions,
      ["read", "env", "ffi"],
      "; the JavaScript one takes its place",
    ),
  ];
}

function gpuJob(adapter: AdapterDescription | string): Job {
  const job = "kernels on the GPU (--device gpu)";
  if (adapter === NOT_LOOKED_FOR) return { job, runs: false, why: adapter, hint: null };
  if (typeof adapter === "string") {
    const hint = Deno.build.os === "linux"
      ? "Install the GPU's Vulkan driver, or `apt install mesa-vulkan-drivers` for a software one"
      : "Update the GPU's driver";
    return { job, runs: false, why: adapter, hint };
  }
  if (adapter.selfTest !== "passed") {
    return { job, runs: false, why: adapter.selfTest, hint: "Update the GPU's driver" };
  }
  const why = adapter.software
    ? `${adapter.name}: a software adapter, slower than the CPU kernels`
    : adapter.name;
  return { job, runs: true, why, hint: null };
}

function permitted(
  job: string,
  permissions: Record<string, string>,
  needed: (keyof typeof PERMISSIONS)[],
  otherwise = "",
): Job {
  const missing = needed.filter((name) => permissions[name] !== "granted");
  if (missing.length === 0) return { job, runs: true, why: "permitted", hint: null };
  const flags = missing.map((name) => `--allow-${name}`).join(" ");
  const limited = missing.every((name) => permissions[name] === "prompt");
  return {
    job,
    runs: false,
    why: `${flags} ${limited ? "is not granted for everything" : "is denied"}${otherwise}`,
    hint: `Run deno with ${flags}, for the places in question or for all`,
  };
}

/** The report for people. */
export function doctorText({ deno, adapter, permissions, jobs }: DoctorReport): string {
  const parts = [
    `Deno ${deno.version} (V8 ${deno.v8}) on ${deno.platform}`,
    adapter ? adapterText(adapter) : "GPU: none",
    table(["permission", "state", "for"], [
      ...Object.entries(PERMISSIONS).map(([name, use]) => [name, permissions[name], use]),
    ]),
    table(
      ["what", "runs here", "why"],
      jobs.map(({ job, runs, why }) => [
        job,
        runs ? "yes" : "no",
        why,
      ]),
    ),
  ];
  const hints = jobs.flatMap(({ job, hint }) => (hint ? [`${job}: ${hint}`] : []));
  if (hints.length > 0) parts.push(hints.join("\n"));
  return parts.join("\n\n");
}

function adapterText({ name, software, limits, features, selfTest }: AdapterDescription): string {
  const rows = Object.entries(limits).map(([limit, value]) => [
    limit,
    /Size$/.test(limit) && value > 65536 ? bytes(value) : count(value),
  ]);
  return [
    `GPU: ${name}${software ? " (software)" : ""}, self-test ${selfTest}`,
    table(["limit", "value"], rows),
    table(
      ["feature", "there"],
      Object.entries(features).map(([f, has]) => [f, has ? "yes" : "no"]),
    ),
  ].join("\n");
}
