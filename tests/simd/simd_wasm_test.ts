import assert from "node:assert/strict";
import { compileSimd } from "../../cli/compile_simd.ts";
import { SIMD_WASM } from "../../lib/simd/simd_wasm.ts";

Deno.test("the SIMD kernels that ship are what their sources compile to", async () => {
  assert.equal((await compileSimd()).toBase64(), SIMD_WASM, "run `deno task simd`");
});
