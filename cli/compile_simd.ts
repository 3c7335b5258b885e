import * as asc from "assemblyscript/asc";

const SOURCES = new URL("../lib/simd/assembly/", import.meta.url);

/** The SIMD kernels of `lib/simd/assembly`, all in one WebAssembly module that imports its memory. */
export async function compileSimd(): Promise<Uint8Array> {
  const names = [...Deno.readDirSync(SOURCES)].map(({ name }) => name).sort();
  let wasm: Uint8Array | null = null;
  const { error, stderr } = await asc.main([
    ...names,
    "--outFile=simd.wasm",
    "--optimizeLevel=3",
    "--shrinkLevel=0",
    "--noAssert",
    "--runtime=stub",
    "--importMemory",
    "--enable=simd",
  ], {
    readFile: (name) => names.includes(name) ? Deno.readTextFileSync(new URL(name, SOURCES)) : null,
    writeFile: (_, contents) => {
      if (contents instanceof Uint8Array) wasm = contents;
    },
    listFiles: () => [],
  });
  if (error || !wasm) throw new Error(`${error?.message ?? "nothing was made"}\n${stderr}`);
  return wasm;
}
