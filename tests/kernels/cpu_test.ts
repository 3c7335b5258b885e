import { CpuKernels } from "../../lib/engram/cpu_kernels.ts";
import { kernelSuite } from "./suite.ts";

kernelSuite("CPU", () => Promise.resolve(new CpuKernels()));
