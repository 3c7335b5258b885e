import { extname } from "node:path";
import { npyHeader } from "../lib/arrays/npy_header.ts";
import { bytesOf } from "../lib/bytes/bytes_of.ts";
import { OutputFile } from "../lib/bytes/output_file.ts";
import { EngramError } from "../lib/errors.ts";
import { SafetensorsWriter } from "../lib/safetensors/safetensors_writer.ts";
import { fromBf16, widenBf16 } from "../lib/table/bf16.ts";
import { jsonNumbers } from "./json_numbers.ts";
import type { SpooledTokens } from "./token_spool.ts";

/** A tensor with one entry for each token. */
export interface TokenTensor {
  /** Its name in the file. */
  readonly name: string;
  /** BF16 values come as their bits. */
  readonly dtype: "BF16" | "F32" | "I32";
  /** Sizes of one token's entry. */
  readonly shape: readonly number[];
}

/** What an output's header says, known before its first token. */
export interface TokenOutputPlan {
  /** Tokens in all. */
  readonly tokens: number;
  /** First token of each request. */
  readonly starts: readonly number[];
  /** What is written for each token, beside its id and whether it is dead. */
  readonly tensors: readonly TokenTensor[];
  /**
   * Which of the tensors, all of one shape, a format of one array holds side by side. Needed where
   * there are several.
   */
  readonly stacked?: readonly number[];
  /** What the file says about itself. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Replace a file that exists. */
  readonly force: boolean;
  /** Where a part of the tokens begins; JSON lines count requests and positions from there. */
  readonly origin?: { readonly request: number; readonly position: number };
}

/** A file with tensors along tokens; it appears on commit, and is removed without. */
export interface TokenOutput extends Disposable {
  /** The next tokens with their values, in the order of the plan's tensors. */
  append(tokens: SpooledTokens, values: readonly (Uint16Array | Float32Array | Int32Array)[]): void;
  commit(): void;
}

const FORMATS: Record<string, (path: string, plan: TokenOutputPlan) => TokenOutput> = {
  ".safetensors": safetensors,
  ".npy": npy,
  ".jsonl": jsonLines,
};

/** Refuses a path that cannot be written, before any work is done. */
export function checkTokenOutput(path: string, force: boolean): void {
  if (!Object.hasOwn(FORMATS, extname(path))) {
    throw new EngramError(
      "usage",
      `Cannot write \`${path}\`: found the ending "${extname(path)}", ` +
        `wanted one of ${Object.keys(FORMATS).join(", ")}`,
      { where: "--out" },
    );
  }
  OutputFile.create(path, { force }).abort();
}

/** Begins the output at `path`, in the format that its ending names. */
export function openTokenOutput(path: string, plan: TokenOutputPlan): TokenOutput {
  return FORMATS[extname(path)](path, plan);
}

function safetensors(path: string, plan: TokenOutputPlan): TokenOutput {
  const { tokens, starts, tensors, metadata, force } = plan;
  const writer = SafetensorsWriter.create(path, [
    { name: "token_ids", dtype: "I32", shape: [tokens] },
    { name: "dead", dtype: "U8", shape: [tokens] },
    { name: "starts", dtype: "I64", shape: [starts.length + 1] },
    ...tensors.map(({ name, dtype, shape }) => ({ name, dtype, shape: [tokens, ...shape] })),
  ], { force, metadata });
  return {
    append({ tokenIds, dead }, values) {
      writer.append("token_ids", bytesOf(tokenIds));
      writer.append("dead", dead);
      values.forEach((value, i) => writer.append(tensors[i].name, bytesOf(value)));
    },
    commit() {
      writer.append("starts", bytesOf(BigInt64Array.from([...starts, tokens], BigInt)));
      writer.commit();
    },
    [Symbol.dispose]: () => writer.abort(),
  };
}

/**
 * One array: the plan's stacked tensors [tokens, tensors, …], or its only tensor [tokens, …].
 * NumPy has no bf16: such values are written as the float32 they are.
 */
function npy(path: string, { tokens, tensors, stacked, force }: TokenOutputPlan): TokenOutput {
  const chosen = stacked ?? tensors.map((_, i) => i);
  const { dtype, shape: each } = tensors[chosen[0]];
  const shape = [tokens, ...(stacked ? [stacked.length] : []), ...each];
  const header = npyHeader(dtype === "I32" ? "<i4" : "<f4", shape);
  const size = shape.reduce((product, n) => product * n, 4) + header.length;
  const file = OutputFile.create(path, { force, size });
  file.write(header);
  const width = each.reduce((product, n) => product * n, 1);
  return {
    append({ tokenIds }, values) {
      const arrays = chosen.map((i) => values[i]).map((array) =>
        array instanceof Uint16Array ? widenBf16(array) : array
      );
      if (arrays.length === 1) return file.write(bytesOf(arrays[0]));
      const rows = new Float32Array(tokenIds.length * arrays.length * width);
      for (let t = 0, at = 0; t < tokenIds.length; t++) {
        for (const array of arrays) {
          rows.set(array.subarray(t * width, (t + 1) * width), at);
          at += width;
        }
      }
      file.write(bytesOf(rows));
    },
    commit: () => file.commit(),
    [Symbol.dispose]: () => file.abort(),
  };
}

/** One line a token; bf16 values as the numbers they are. */
function jsonLines(path: string, plan: TokenOutputPlan): TokenOutput {
  const { tensors, force, origin = { request: 0, position: 0 } } = plan;
  const file = OutputFile.create(path, { force });
  const encoder = new TextEncoder();
  // The first token's request is counted when it begins, unless it began before.
  let request = plan.starts[0] === 0 ? origin.request - 1 : origin.request;
  let { position } = origin;
  return {
    append({ tokenIds, dead, starts }, values) {
      let next = 0;
      tokenIds.forEach((tokenId, t) => {
        for (; starts[next] === t; next++) {
          request++;
          position = 0;
        }
        const head = { request, position: position++, token_id: tokenId, dead: dead[t] === 1 };
        const entries = tensors.map(({ name, dtype, shape }, i) => {
          const size = shape.reduce((product, n) => product * n, 1);
          const entry = Array.from(
            values[i].subarray(t * size, (t + 1) * size),
            dtype === "BF16" ? fromBf16 : Number,
          );
          return `,${JSON.stringify(name)}:${nested(entry, shape)}`;
        });
        file.write(encoder.encode(`${JSON.stringify(head).slice(0, -1)}${entries.join("")}}\n`));
      });
    },
    commit: () => file.commit(),
    [Symbol.dispose]: () => file.abort(),
  };
}

/** Flat values as JSON lists nested by `shape`. */
function nested(values: readonly number[], shape: readonly number[]): string {
  if (shape.length < 2) return jsonNumbers(values);
  const size = values.length / shape[0];
  const parts = Array.from(
    { length: shape[0] },
    (_, i) => nested(values.slice(i * size, (i + 1) * size), shape.slice(1)),
  );
  return `[${parts.join(",")}]`;
}
