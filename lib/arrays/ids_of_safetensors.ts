import { EngramError } from "../errors.ts";
import { readTensor } from "../safetensors/read_tensor.ts";
import type { SafetensorsFile } from "../safetensors/safetensors_file.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import { idOf } from "./id_check.ts";
import { CHUNK_IDS, type IdChunk, type IdSource } from "./id_source.ts";
import { isNumberDtype, numberBytes, numbersOf } from "./numbers_of.ts";

/**
 * Token ids of an open safetensors file: `token_ids` [T] of an integer type, with `dead` [T] (U8 or
 * BOOL) and `starts` (the first token of each request, and perhaps T) where they are there.
 */
export async function idsOfSafetensors(file: SafetensorsFile): Promise<IdSource> {
  const name = file.source.name;
  const tokenIds = file.tensor("token_ids");
  const tokens = lengthOf(tokenIds, name);
  const dead = file.tensors.get("dead");
  if (dead && (lengthOf(dead, name) !== tokens || !["U8", "BOOL"].includes(dead.dtype))) {
    refuse(name, `dead is ${dead.dtype} [${dead.shape}]`, `U8 [${tokens}]`);
  }
  const starts = await startsOf(file, tokens);
  return {
    name,
    chunks: () => chunks(name, tokenIds, dead, starts),
    close: () => file.close(),
  };
}

async function* chunks(
  name: string,
  tokenIds: Tensor,
  dead: Tensor | undefined,
  starts: readonly number[],
): AsyncGenerator<IdChunk> {
  for (const [request, start] of starts.slice(0, -1).entries()) {
    const end = starts[request + 1];
    for (let at = start; at === start || at < end; at += CHUNK_IDS) {
      const count = Math.min(CHUNK_IDS, end - at);
      const values = await read(tokenIds, at, count);
      const ids = Int32Array.from(values, (value, i) => idOf(value, at - start + i, name));
      const chunk = { ids, requestStart: at === start };
      if (!dead) yield chunk;
      else {
        const flags = await read(dead, at, count);
        yield { ...chunk, dead: Uint8Array.from(flags, (flag) => (flag ? 1 : 0)) };
      }
    }
  }
  tokenIds.source.checkUnchanged();
}

async function read(tensor: Tensor, at: number, count: number) {
  if (!isNumberDtype(tensor.dtype)) throw new Error(`${tensor.dtype} was checked before`);
  const size = numberBytes(tensor.dtype);
  const bytes = new Uint8Array(count * size);
  await tensor.source.read(bytes, tensor.offset + at * size);
  return numbersOf(tensor.dtype, bytes);
}

function lengthOf(tensor: Tensor, name: string): number {
  if (
    tensor.shape.length !== 1 || !isNumberDtype(tensor.dtype) ||
    tensor.dtype === "BOOL" && tensor.name !== "dead"
  ) {
    refuse(
      name,
      `${tensor.name} is ${tensor.dtype} [${tensor.shape}]`,
      "integers of shape [tokens]",
    );
  }
  return tensor.shape[0];
}

/** Boundaries of the requests, from 0 to `tokens`; without `starts` everything is one request. */
async function startsOf(file: SafetensorsFile, tokens: number): Promise<number[]> {
  const tensor = file.tensors.get("starts");
  if (!tensor) return [0, tokens];
  const name = file.source.name;
  lengthOf(tensor, name);
  if (!isNumberDtype(tensor.dtype)) throw new Error("was checked before");
  const starts = Array.from(numbersOf(tensor.dtype, await readTensor(tensor)), Number);
  if (starts.length === 0 || starts.at(-1) !== tokens) starts.push(tokens);
  starts.forEach((start, i) => {
    const least = i === 0 ? 0 : starts[i - 1];
    if (!(start >= least && start <= tokens) || !Number.isInteger(start)) {
      refuse(name, `starts[${i}] is ${start}`, `an integer from ${least} to ${tokens}`);
    }
  });
  if (starts[0] !== 0) starts.unshift(0);
  return starts;
}

function refuse(name: string, found: string, wanted: string): never {
  throw new EngramError(
    "malformed",
    `Cannot read token ids of \`${name}\`: ${found}, wanted ${wanted}`,
    { where: name },
  );
}
