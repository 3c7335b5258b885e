/**
 * Bundles the page's script and serves the page: `deno run -A examples/browser/serve.ts [PORT]`.
 *
 * @module
 */

/** The page's files by path. */
export async function pageFiles(): Promise<
  ReadonlyMap<string, readonly [type: string, body: string]>
> {
  const script = await bundle(new URL("main.ts", import.meta.url));
  const html = await Deno.readTextFile(new URL("index.html", import.meta.url));
  return new Map([
    ["/", ["text/html; charset=utf-8", html]],
    ["/main.js", ["text/javascript; charset=utf-8", script]],
  ]);
}

/** The script and all it imports as one file for browsers. */
async function bundle(entry: URL): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform", "browser", entry.pathname],
    cwd: new URL("../..", import.meta.url),
  }).output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`Cannot bundle ${entry}: ${new TextDecoder().decode(stderr)}`);
}

/** Serves the page on this machine only. */
export async function servePage(port: number): Promise<Deno.HttpServer<Deno.NetAddr>> {
  const files = await pageFiles();
  return Deno.serve({ port, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const file = files.get(new URL(request.url).pathname);
    if (!file) return new Response("Not found", { status: 404 });
    return new Response(file[1], { headers: { "content-type": file[0] } });
  });
}

if (import.meta.main) {
  const server = await servePage(Number(Deno.args[0] ?? 8000));
  console.log(`Open http://127.0.0.1:${server.addr.port}/ (WebGPU needs a recent browser)`);
}
