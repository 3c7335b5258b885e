import { EngramError } from "../errors.ts";
import type { DumpArray } from "./dump.ts";

/** The arrays of a JSON text: an object of lists, a list, or a line for each token. */
export function jsonArrays(bytes: Uint8Array, where: string): Map<string, DumpArray> {
  const refuse = (found: string): never => {
    throw new EngramError("malformed", `Cannot compare \`${where}\`: ${found}`, {
      where,
      hint: "Give safetensors, .npy, JSON lists, or JSON lines as `engram hash` writes them",
    });
  };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return refuse("it is neither safetensors nor .npy nor JSON in UTF-8");
  }
  const parse = (json: string): unknown => {
    try {
      return JSON.parse(json);
    } catch {
      return undefined;
    }
  };
  const whole = parse(text);
  if (Array.isArray(whole)) return new Map([["", nested("", whole, refuse)]]);
  if (isObject(whole) && !("token_id" in whole)) {
    return new Map(
      Object.entries(whole).filter(([, value]) => Array.isArray(value)).map((
        [name, value],
      ) => [name, nested(name, value as unknown[], refuse)]),
    );
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "").map((line, i) => {
    const value = parse(line);
    return value === undefined ? refuse(`line ${i + 1} is no JSON`) : value;
  });
  if (lines.length > 0 && lines.every(Array.isArray)) {
    return new Map([["", nested("", lines, refuse)]]);
  }
  const objects = lines.map((line, i) =>
    isObject(line) ? line : refuse(`line ${i + 1} is no object`)
  );
  return tokenLines(objects, refuse);
}

/** Lines of one token each: `token_id`, `dead`, `request`, and a list for each array. */
function tokenLines(
  lines: readonly Record<string, unknown>[],
  refuse: (found: string) => never,
): Map<string, DumpArray> {
  const arrays = new Map<string, DumpArray>();
  const add = (name: string, values: unknown[]) => arrays.set(name, nested(name, values, refuse));
  for (const key of Object.keys(lines[0] ?? {})) {
    const values = lines.map((line, i) =>
      key in line ? line[key] : refuse(`line ${i + 1} has no ${JSON.stringify(key)}`)
    );
    if (key === "token_id") add("token_ids", values);
    else if (key === "position") {
      const starts = values.flatMap((position, t) => (position === 0 ? [t] : []));
      add("starts", [...starts, lines.length]);
    } else if (key !== "request") add(key, values);
  }
  return arrays;
}

function nested(name: string, value: unknown[], refuse: (found: string) => never): DumpArray {
  const shape: number[] = [];
  for (let item: unknown = value; Array.isArray(item); item = item[0]) shape.push(item.length);
  const values: number[] = [];
  const walk = (item: unknown, depth: number): void => {
    if (depth === shape.length) {
      values.push(
        numberOf(item) ?? refuse(`found ${show(item)} in ${name || "its list"}, wanted a number`),
      );
    } else if (!Array.isArray(item) || item.length !== shape[depth]) {
      refuse(`the lists of ${name || "it"} are not all of one length`);
    } else for (const child of item) walk(child, depth + 1);
  };
  walk(value, 0);
  return {
    name,
    dtype: "JSON",
    shape,
    // deno-lint-ignore require-await -- the seam is asynchronous for files' sake
    read: async (begin, count) => Float64Array.from(values.slice(begin, begin + count)),
  };
}

/** JSON has no NaN and no infinities: null and their names stand for them. */
function numberOf(item: unknown): number | undefined {
  if (typeof item === "number") return item;
  if (typeof item === "boolean") return item ? 1 : 0;
  if (item === null || item === "NaN") return NaN;
  if (item === "Infinity" || item === "-Infinity") return Number(item);
  return undefined;
}

function show(item: unknown): string {
  return JSON.stringify(item)?.slice(0, 40) ?? "nothing";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
