import { Html, markup } from "./html.ts";

type Cell = string | number | Html;

/** A table; columns of numbers stand to the right. */
export function htmlTable(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
): Html {
  const right = head.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const kind = (i: number) => (right[i] ? "number" : "text");
  return markup`
    <div class="scroll">
      <table>
        <caption>${caption}</caption>
        <thead>
          <tr>${
    head.map((title, i) => markup`<th scope="col" class="${kind(i)}">${title}</th>`)
  }</tr>
        </thead>
        <tbody>${
    rows.map((row) =>
      markup`
            <tr>${row.map((cell, i) => markup`<td class="${kind(i)}">${shown(cell)}</td>`)}</tr>
          `
    )
  }</tbody>
      </table>
    </div>
  `;
}

function shown(cell: Cell): string | Html {
  if (typeof cell !== "number") return cell;
  return Number.isInteger(cell) ? cell.toLocaleString("en-US") : cell.toFixed(4);
}
