import { Html, markup } from "./html.ts";
import style from "./page.css" with { type: "text" };

/** What a page is made of. */
export interface Page {
  readonly title: string;
  /** Under the title: what was run. */
  readonly subtitle: string;
  readonly body: Html;
  /** Plain JavaScript, run at the end. */
  readonly script?: string;
}

/** A page in one file that loads nothing and may not: its policy forbids every request. */
export function page({ title, subtitle, body, script }: Page): string {
  return markup`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy"
          content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
        <meta name="generator" content="engram">
        <title>${title}</title>
        <link rel="icon" href="data:,">
        <style>${new Html(style)}</style>
      </head>
      <body>
    <header><h1>${title}</h1><p>${subtitle}</p></header>
    <main>
    ${body}
    </main>
    ${script === undefined ? null : new Html(`<script>${script}</script>`)}
      </body>
    </html>
  `.text.trim() + "\n";
}
