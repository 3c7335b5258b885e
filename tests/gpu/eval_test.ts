import { evalModels } from "../cli/eval_models.ts";
import { hasGpu } from "./open_gpu.ts";

// The kernels' own suite covers sizes and encodings; these show that the command puts them together.
evalModels("gpu", [
  "hidden off every tile, a row of 40 values, 3 copies",
  "bf16 rows and weights",
], { ignore: !(await hasGpu()) });
