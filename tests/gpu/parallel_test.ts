import { parallelSuite } from "../engram/parallel_suite.ts";
import { gpuKernels, hasGpu } from "./open_gpu.ts";

parallelSuite("GPU", gpuKernels, { ignore: !(await hasGpu()), everyTp: false });
