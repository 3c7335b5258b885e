import { equal, match } from "node:assert/strict";
import { fileURLToPath } from "node:url";

Deno.test("SIGINT ends a command that waits for a server, at once and quietly", async () => {
  let asked = () => {};
  const request = new Promise<void>((resolve) => asked = resolve);
  const held: ReadableStreamDefaultController[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    asked();
    const body = new ReadableStream({ start: (controller) => void held.push(controller) });
    return new Response(body, {
      status: 206,
      headers: { "Content-Range": "bytes 0-4095/5000", "Content-Length": "4096" },
    });
  });
  const main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", main, "inspect", `http://127.0.0.1:${server.addr.port}/x.safetensors`],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await request;
  child.kill("SIGINT");
  const { code, stdout, stderr } = await child.output();
  equal(code, 130);
  equal(stdout.length, 0);
  match(new TextDecoder().decode(stderr), /^error: Interrupted\n$/);
  held.forEach((controller) => {
    try {
      controller.close();
    } catch {
      // The client was gone before.
    }
  });
  await server.shutdown();
});
