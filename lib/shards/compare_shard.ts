import { Buffer } from "node:buffer";
import { breathe } from "../bytes/breathe.ts";
import type { SafetensorsFile } from "../safetensors/safetensors_file.ts";
import type { Tensor } from "../safetensors/tensor.ts";
import { type CompareOptions, openCompared, tensorFault } from "./open_compared.ts";
import type { ShardPlan, ShardTensor } from "./shard_plan.ts";

/** Where a shard is not what its plan says. */
export interface ShardFault {
  /** The tensor it is about; null for the file as a whole. */
  readonly tensor: string | null;
  /** The whole of it in a sentence. */
  readonly message: string;
}

/** Bytes compared at a time: a remote source costs a round trip for each. */
const CHUNK_BYTES = 8 * 2 ** 20;

/** Compares the file at `path` with what `plan` would write there, every byte of it. */
export async function compareShard(
  path: string,
  plan: ShardPlan,
  options: CompareOptions = {},
): Promise<ShardFault[]> {
  const file = await openCompared(path);
  if (typeof file === "string") return [{ tensor: null, message: file }];
  try {
    const faults = compareHeaders(file, plan);
    const bad = new Set(faults.map(({ tensor }) => tensor));
    for (const tensor of plan.tensors) {
      if (bad.has(tensor.name)) continue;
      const fault = await compareTensor(file.tensor(tensor.name), tensor, plan, options);
      if (fault) faults.push(fault);
    }
    return faults;
  } finally {
    file.close();
  }
}

function compareHeaders(file: SafetensorsFile, plan: ShardPlan): ShardFault[] {
  const faults: ShardFault[] = [];
  const planned = new Set(plan.tensors.map(({ name }) => name));
  for (const tensor of plan.tensors) {
    const message = tensorFault(file, tensor);
    if (message !== null) faults.push({ tensor: tensor.name, message });
  }
  for (const name of file.tensors.keys()) {
    if (planned.has(name)) continue;
    const message = `tensor ${JSON.stringify(name)} is no tensor of this shard`;
    faults.push({ tensor: name, message });
  }
  for (const [key, value] of Object.entries(plan.metadata)) {
    if (file.metadata.get(key) !== value) {
      faults.push({ tensor: null, message: `its metadata "${key}" is not that of this shard` });
    }
  }
  return faults;
}

async function compareTensor(
  found: Tensor,
  wanted: ShardTensor,
  plan: ShardPlan,
  { signal, onBytes }: CompareOptions,
): Promise<ShardFault | null> {
  const own = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(1, found.byteLength)));
  const source = Buffer.allocUnsafe(own.length);
  let at = 0;
  for (const { tensor, begin, end } of wanted.pieces) {
    for (let from = begin; from < end; from += own.length) {
      await breathe(signal);
      const length = Math.min(own.length, end - from);
      const [ours, theirs] = [own.subarray(0, length), source.subarray(0, length)];
      await Promise.all([
        found.source.read(ours, found.offset + at),
        tensor.source.read(theirs, tensor.offset + from),
      ]);
      if (!ours.equals(theirs)) {
        const byte = at + ours.findIndex((value, i) => value !== theirs[i]);
        return { tensor: wanted.name, message: differs(wanted, plan, byte, found.byteLength) };
      }
      at += length;
      onBytes?.(length);
    }
  }
  found.source.checkUnchanged();
  wanted.pieces.forEach(({ tensor }) => tensor.source.checkUnchanged());
  return null;
}

/** Names the first byte that differs, and of a table the row it belongs to. */
function differs(
  { name, shape, isTable, pieces }: ShardTensor,
  { rank }: ShardPlan,
  byte: number,
  byteLength: number,
): string {
  const start = `tensor ${JSON.stringify(name)} of rank ${rank} differs from the checkpoint`;
  if (!isTable) return `${start} at byte ${byte} of it`;
  const rowBytes = byteLength / shape[0];
  let left = byte;
  const piece = pieces.find(({ begin, end }) => {
    if (left < end - begin) return true;
    left -= end - begin;
    return false;
  })!;
  const row = Math.floor((piece.begin + left) / rowBytes);
  return `${start} from row ${row} on (row ${Math.floor(byte / rowBytes)} of the shard)`;
}
