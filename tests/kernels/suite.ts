import type { Kernels } from "../../lib/engram/kernels.ts";
import { gateCases } from "./gate_cases.ts";
import { hashCases } from "./hash_cases.ts";
import { lookupCases } from "./lookup_cases.ts";
import { projectCases } from "./project_cases.ts";
import { relayCases } from "./relay_cases.ts";
import { slotCacheCases } from "./slot_cache_cases.ts";

/** Tests of one kernel: runs its cases as steps. */
export type Cases = (
  kernels: Kernels,
  step: (name: string, run: () => Promise<void>) => Promise<boolean>,
) => Promise<void>;

const KERNELS: Readonly<Record<string, Cases>> = {
  hash: hashCases,
  "slot cache": slotCacheCases,
  lookup: lookupCases,
  project: projectCases,
  gate: gateCases,
  relay: relayCases,
};

/** Registers the one suite that every backend must pass. `open` is called once for each kernel. */
export function kernelSuite(
  backend: string,
  open: () => Promise<Kernels>,
  options: { ignore?: boolean } = {},
): void {
  for (const [name, cases] of Object.entries(KERNELS)) {
    Deno.test({
      name: `${name} on the ${backend}`,
      ...options,
      fn: async (test) => {
        const kernels = await open();
        try {
          await cases(kernels, (name, run) => test.step(name, run));
        } finally {
          kernels.close();
        }
      },
    });
  }
}
