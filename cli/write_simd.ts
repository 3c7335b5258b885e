/** Compiles the SIMD kernels into lib/simd/simd_wasm.ts; `deno task simd`. */
import { compileSimd } from "./compile_simd.ts";

const wasm = await compileSimd();
Deno.writeTextFileSync(
  new URL("../lib/simd/simd_wasm.ts", import.meta.url),
  `// Made of assembly/ by \`deno task simd\`.

/** The SIMD kernels as a WebAssembly module in base64. */
export const SIMD_WASM =
  "${wasm.toBase64()}";
`,
);
