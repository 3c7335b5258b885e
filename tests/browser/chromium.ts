import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";

/** Where Debian, other systems and CI images keep a Chromium. */
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The Chromium there is; null where there is none, which in CI is an error. */
export function findChromium(): string | null {
  const found = [Deno.env.get("CHROMIUM"), ...PLACES].find((path) => path && existsSync(path));
  if (found === undefined && Deno.env.get("CI")) {
    throw new Error("no Chromium here: apt-get install chromium, or set CHROMIUM to its path");
  }
  return found ?? null;
}

/** A test that runs in headless Chromium; skipped with a reason where there is none outside CI. */
export function browserTest(
  name: string,
  body: (browser: Browser) => Promise<void>,
  flags: readonly string[] = ["--disable-gpu"],
): void {
  const executablePath = findChromium();
  Deno.test({
    name: executablePath ? name : `${name} (no Chromium here: skipped)`,
    ignore: executablePath === null,
    // The driver keeps timers and sockets of its own until the browser is gone.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const browser = await chromium.launch({
        executablePath: executablePath!,
        args: [...FLAGS, ...flags],
        env: { ...Deno.env.toObject(), DBUS_SESSION_BUS_ADDRESS: "disabled:" },
      });
      try {
        await body(browser);
      } finally {
        await browser.close();
      }
    },
  });
}

/** Takes a picture of the page where ENGRAM_SHOTS names a folder for them, to be looked at. */
export async function takeShot(page: Page, name: string): Promise<void> {
  const folder = Deno.env.get("ENGRAM_SHOTS");
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

/** Opens a file in a new page; errors, console errors and requests beyond the file are gathered. */
export async function openPage(
  browser: Browser,
  file: string,
): Promise<{ page: Page; trouble: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
  const trouble: string[] = [];
  page.on("pageerror", (error) => trouble.push(String(error)));
  page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) trouble.push(`asked for ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  return { page, trouble };
}
