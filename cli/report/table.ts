import { Html, html } from "./html.ts";

/** A table; cells that are numbers stand to the right. */
export function htmlTable(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly (string | number | Html)[])[],
): Html {
  return html`
    <div class="scroll">
      <table>
        <caption>${caption}</caption>
        <thead>
          <tr>${head.map((title) => html`<th scope="col">${title}</th>`)}</tr>
        </thead>
        <tbody>${rows.map((row) =>
          html`
            <tr>${row.map((cell) =>
              typeof cell === "number"
                ? html`<td class="number">${number(cell)}</td>`
                : html`<td>${cell}</td>`
            )}</tr>
          `
        )}</tbody>
      </table>
    </div>
  `;
}

function number(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString("en-US") : value.toFixed(4);
}
