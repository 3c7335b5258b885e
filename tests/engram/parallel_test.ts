import { CpuKernels } from "../../lib/engram/cpu_kernels.ts";
import { parallelSuite } from "./parallel_suite.ts";

parallelSuite("CPU", () => Promise.resolve(new CpuKernels()));
