import { kernelSuite } from "../kernels/suite.ts";
import { gpuKernels, hasGpu } from "./open_gpu.ts";

if (await hasGpu()) kernelSuite("GPU", gpuKernels);
