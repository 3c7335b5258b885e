/** What the proxy does to one request. */
export type Fault =
  | "none"
  /** Half of the body, then the connection breaks. */
  | "cut"
  /** Half of the body, and the answer says that this is all. */
  | "short"
  /** Headers, then nothing. */
  | "stall"
  /** An answer of the proxy's own. */
  | { status: number; headers?: Record<string, string>; body?: string }
  /** The server's answer with other headers. */
  | { headers: Record<string, string> };

/** A proxy between the client and a real server that breaks what it is told to break. */
export interface FaultProxy {
  readonly url: string;
  /** Requests so far; may be set back. */
  count: number;
  /** Decides for each request, by its number from 0 on. */
  fault: (request: number) => Fault;
  stop(): Promise<void>;
}

/** Starts a proxy to `server`. */
export function startFaultProxy(server: string): FaultProxy {
  const stalled: (() => void)[] = [];
  const answer = async (request: Request): Promise<Response> => {
    const fault = proxy.fault(proxy.count++);
    if (typeof fault === "object" && "status" in fault) {
      return new Response(fault.body ?? null, fault);
    }
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    headers.delete("host");
    const real = await fetch(server + pathname + search, { headers });
    const body = new Uint8Array(await real.arrayBuffer());
    const half = body.subarray(0, body.length >> 1);
    const init = { status: real.status, headers: new Headers(real.headers) };
    if (typeof fault === "object") {
      for (const [name, value] of Object.entries(fault.headers)) {
        if (value === "") init.headers.delete(name);
        else init.headers.set(name, value);
      }
    }
    if (fault === "short") {
      init.headers.set("Content-Length", String(half.length));
      return new Response(half, init);
    }
    if (fault === "cut") {
      return new Response(stream(half, (end) => end.error(new Error("cut"))), init);
    }
    if (fault === "stall") {
      return new Response(stream(half, (end) => stalled.push(() => end.error("over"))), init);
    }
    return new Response(body, init);
  };
  const served = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
    onError: () => new Response(null, { status: 500 }),
  }, answer);
  const proxy = {
    url: `http://127.0.0.1:${served.addr.port}`,
    count: 0,
    fault: (_: number): Fault => "none",
    async stop() {
      stalled.forEach((end) => end());
      await served.shutdown();
    },
  };
  return proxy;
}

/** A body that gives `bytes` and then what `end` does to it. */
function stream(
  bytes: Uint8Array,
  end: (controller: ReadableStreamDefaultController) => void,
): ReadableStream {
  let given = false;
  return new ReadableStream({
    async pull(controller) {
      if (!given) {
        given = true;
        return controller.enqueue(bytes);
      }
      // Time for the bytes to leave before the connection breaks.
      await new Promise((resolve) => setTimeout(resolve, 5));
      end(controller);
    },
  }, { highWaterMark: 0 });
}
