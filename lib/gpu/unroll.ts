/**
 * Writes out the repeats of a WGSL text, so that sums kept in numbered variables stay in registers:
 * lines between `@repeat(i, N)` and `@end` come N times, with `$i` standing for the number. N is a
 * number or the name of a constant; `$NAME` stands for a constant everywhere. Repeats nest.
 *
 * @example
 * ```ts
 * import { unroll } from "./unroll.ts";
 *
 * const text = unroll("@repeat(i, ROWS)\nlet x$i = $iu;\n@end", { ROWS: 2 });
 * if (text !== "let x0 = 0u;\nlet x1 = 1u;") throw new Error(text);
 * ```
 */
export function unroll(source: string, constants: Readonly<Record<string, number>> = {}): string {
  let text = source;
  for (const [name, value] of Object.entries(constants)) {
    text = text.replaceAll(`$${name}`, String(value));
  }
  const lines = text.split("\n");
  const out: string[] = [];
  expand(lines, 0, lines.length, constants, out);
  return out.join("\n");
}

const REPEAT = /^\s*@repeat\((\w+), (\w+)\)$/;
const END = /^\s*@end$/;

function expand(
  lines: readonly string[],
  from: number,
  to: number,
  constants: Readonly<Record<string, number>>,
  out: string[],
): void {
  for (let at = from; at < to; at++) {
    const repeat = REPEAT.exec(lines[at]);
    if (!repeat) {
      out.push(lines[at]);
      continue;
    }
    const end = endOf(lines, at);
    const times = constants[repeat[2]] ?? Number(repeat[2]);
    if (!Number.isSafeInteger(times)) throw new Error(`@repeat counts to ${repeat[2]}`);
    const body: string[] = [];
    expand(lines, at + 1, end, constants, body);
    for (let i = 0; i < times; i++) {
      for (const line of body) out.push(line.replaceAll(`$${repeat[1]}`, String(i)));
    }
    at = end;
  }
}

function endOf(lines: readonly string[], repeat: number): number {
  for (let at = repeat + 1, depth = 1; at < lines.length; at++) {
    if (REPEAT.test(lines[at])) depth++;
    else if (END.test(lines[at]) && --depth === 0) return at;
  }
  throw new Error("@repeat without @end");
}
