/** HTML text that is safe as it stands. */
export class Html {
  /** The markup. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | null | readonly Part[];

/** A template whose parts are escaped, unless they are HTML themselves; null leaves nothing. */
export function markup(template: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(
    template.map((text, i) => text + (i < parts.length ? shown(parts[i]) : "")).join(""),
  );
}

function shown(part: Part): string {
  if (part === null) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(shown).join("");
  return escapeHtml(String(part));
}

/** Text as HTML, for content and quoted attributes alike. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** A value as JSON inside a script element, where `</script>` and `<!--` must not appear. */
export function jsonScript(id: string, value: unknown): Html {
  const json = JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return new Html(`<script type="application/json" id="${escapeHtml(id)}">${json}</script>`);
}

/** Bytes inside a script element: gzip, then base64. */
export async function binaryScript(id: string, bytes: ArrayBufferView<ArrayBuffer>): Promise<Html> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const text = packed.toBase64();
  return new Html(`<script type="text/plain" id="${escapeHtml(id)}">${text}</script>`);
}
