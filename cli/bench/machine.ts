import * as os from "node:os";
import type { Machine } from "./record.ts";

/** This machine, for a record; `adapter` is the GPU's name where one is used. */
export function thisMachine(adapter: string | null): Machine {
  return {
    os: `${Deno.build.os} ${os.release()}`,
    arch: Deno.build.arch,
    cpu: os.cpus()[0]?.model.trim() || "unknown processor",
    cores: navigator.hardwareConcurrency,
    memory: os.totalmem(),
    adapter,
    deno: Deno.version.deno,
  };
}
