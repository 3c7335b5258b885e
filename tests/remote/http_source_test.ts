import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { ByteSource } from "../../lib/bytes/byte_source.ts";
import type { HttpSettings } from "../../lib/bytes/http_request.ts";
import { type HttpOptions, openHttp } from "../../lib/bytes/http_source.ts";
import { httpTarget } from "../../lib/bytes/http_target.ts";
import { RangeLog } from "../../lib/bytes/range_log.ts";
import { TRAFFIC } from "../../lib/bytes/traffic.ts";
import { EngramError } from "../../lib/errors.ts";
import { type FaultProxy, startFaultProxy } from "./fault_proxy.ts";
import { type Server, startNginx, testWithNginx } from "./nginx.ts";

const SIZE = 200_000;
const BYTES = Uint8Array.from({ length: SIZE }, (_, i) => (i * 2654435761) >>> 13);

/** Short waits, so that tests need not. */
const QUICK: Partial<HttpSettings> = { backoffMs: 1, stallMs: 300 };

interface Place {
  readonly server: Server;
  readonly folder: string;
  open(path: string, options?: HttpOptions): Promise<ByteSource>;
}

const LOCATIONS = `
  location /whole/ { alias ROOT/; max_ranges 0; }
  location /login/ { alias ROOT/; auth_basic "x"; auth_basic_user_file ROOT/users; }
  location /forbidden/ { deny all; }
  location /away/ { return 302 OTHER/f?signature=secret; }
  location /round/ { return 302 /round/; }
  location /ftp/ { return 302 ftp://127.0.0.1/f; }
  location /gone/ { return 410; }
  location /page/ { default_type text/html; return 200 "<html>a page under every address</html>"; }
`;

async function withNginx(test: (place: Place) => Promise<void>): Promise<void> {
  const folder = Deno.makeTempDirSync();
  Deno.writeFileSync(`${folder}/f`, BYTES);
  Deno.writeFileSync(`${folder}/empty`, new Uint8Array(0));
  Deno.writeTextFileSync(`${folder}/users`, "user:{PLAIN}pass word\n");
  let server = await startNginx(folder);
  // The locations name the server's own port, known only now.
  const locations = LOCATIONS.replaceAll("ROOT", folder);
  await server.stop();
  server = await startNginx(folder, locations.replace("OTHER", "http://localhost:$server_port"));
  try {
    await test({
      server,
      folder,
      open: (path, options = {}) =>
        openHttp(httpTarget(path.includes("://") ? path : server.url + path), {
          settings: QUICK,
          ...options,
        }),
    });
  } finally {
    await server.stop();
    Deno.removeSync(folder, { recursive: true });
  }
}

async function withProxy(
  test: (proxy: FaultProxy, open: () => Promise<ByteSource>, folder: string) => Promise<void>,
): Promise<void> {
  await withNginx(async ({ server, folder }) => {
    const proxy = startFaultProxy(server.url);
    try {
      const target = httpTarget(`${proxy.url}/f`);
      await test(proxy, () => openHttp(target, { settings: QUICK }), folder);
    } finally {
      await proxy.stop();
    }
  });
}

/** Reads some bytes far from the start and checks them. */
async function readsRight(source: ByteSource, offset = 100_000, length = 50_000): Promise<void> {
  const into = new Uint8Array(length);
  await source.read(into, offset);
  deepEqual(into, BYTES.subarray(offset, offset + length));
}

/** An `EngramError` of kind unavailable with this message; its text holds no secret. */
const unavailable = (message: RegExp, hint?: RegExp) => (error: unknown) => {
  if (!(error instanceof EngramError)) throw error;
  equal(error.kind, "unavailable");
  match(error.message, message);
  if (hint) match(String(error.hint), hint);
  ok(!`${error.message} ${error.hint} ${error.where}`.includes("secret"));
  return true;
};

testWithNginx(
  "a file behind a URL reads like one on disk, and only what is asked for travels",
  () =>
    withNginx(async ({ server, open }) => {
      const before = { ...TRAFFIC };
      const source = await open("/f");
      equal(source.size, SIZE);
      equal(source.name, `${server.url}/f`);
      await readsRight(source, 10, 100);
      await readsRight(source, 4000, 200);
      await readsRight(source, SIZE - 5, 5);
      await readsRight(source, SIZE, 0);
      const log = await server.log(3);
      deepEqual(log.map(({ range }) => range), [
        "bytes=0-4095",
        "bytes=4096-4199",
        `bytes=${SIZE - 5}-${SIZE - 1}`,
      ]);
      const sent = log.reduce((sum, line) => sum + line.bytes, 0);
      equal(sent, 4096 + 104 + 5);
      equal(TRAFFIC.bytes - before.bytes, sent);
      equal(TRAFFIC.requests - before.requests, 3);
      for (const offset of [SIZE - 4, -1, 0.5, NaN]) {
        await rejects(source.read(new Uint8Array(5), offset), { kind: "malformed" });
      }
      source.close();
      await rejects(source.read(new Uint8Array(5), 0), { kind: "usage", message: /is closed/ });
    }),
);

testWithNginx(
  "many pieces are joined where they lie near each other, and come in parallel",
  () =>
    withNginx(async ({ server, open }) => {
      const source = await open("/f");
      // Out of order, twice the same, overlapping, touching, near, far.
      const offsets = [90_000, 5000, 5000, 5100, 5300, 5812, 6700, 150_000, 90_100];
      const pieces = offsets.map((offset) => ({ offset, into: new Uint8Array(200) }));
      await source.readRanges?.(pieces);
      for (const { offset, into } of pieces) deepEqual(into, BYTES.subarray(offset, offset + 200));
      const ranges = (await server.log(5)).slice(1).map(({ range }) => range).sort();
      deepEqual(ranges, [
        "bytes=150000-150199",
        "bytes=5000-6011",
        "bytes=6700-6899",
        "bytes=90000-90299",
      ]);
    }),
);

testWithNginx(
  "an empty file has no bytes, and a tiny one comes whole",
  () =>
    withNginx(async ({ open, folder }) => {
      equal((await open("/empty")).size, 0);
      Deno.writeTextFileSync(`${folder}/tiny`, "abc");
      const tiny = await open("/tiny");
      equal(tiny.size, 3);
      const into = new Uint8Array(2);
      await tiny.read(into, 1);
      equal(new TextDecoder().decode(into), "bc");
    }),
);

testWithNginx(
  "offsets past 2^32 are exact over the network",
  () =>
    withNginx(async ({ open, folder }) => {
      using raw = Deno.openSync(`${folder}/large`, { write: true, createNew: true });
      raw.truncateSync(9 * 2 ** 30);
      raw.seekSync(2 ** 33 + 5, Deno.SeekMode.Start);
      raw.writeSync(new Uint8Array([1, 2, 3]));
      const source = await open("/large");
      equal(source.size, 9 * 2 ** 30);
      const into = new Uint8Array(5);
      await source.read(into, 2 ** 33 + 4);
      deepEqual([...into], [0, 1, 2, 3, 0]);
    }),
);

testWithNginx(
  "a server without ranges is refused, except for a JSON file of bearable size",
  () =>
    withNginx(async ({ open }) => {
      const before = TRAFFIC.bytes;
      await rejects(
        open("/whole/f"),
        unavailable(/sends whole files only/, /Download the checkpoint/),
      );
      // The body was not taken.
      equal(TRAFFIC.bytes, before);
      await rejects(open("/whole/f", { whole: SIZE - 1 }), unavailable(/sends whole files only/));
      const source = await open("/whole/f", { whole: SIZE });
      equal(source.size, SIZE);
      await readsRight(source);
    }),
);

testWithNginx(
  "each refusal of a server has one clear outcome",
  () =>
    withNginx(async ({ server, open }) => {
      const login = server.url.replace("//", "//user:pass%20word@");
      await rejects(open("/no"), unavailable(/there is no such file \(404\)/, /Check the address/));
      await rejects(open("/gone/f"), unavailable(/was removed \(410\)/));
      await rejects(open("/forbidden/f"), unavailable(/access is forbidden \(403\)/));
      await rejects(open("/login/f"), unavailable(/wants a login \(401\)/, /USER:PASSWORD@HOST/));
      await rejects(open("/round/f"), unavailable(/more than 8 redirects/));
      await rejects(open("/ftp/f"), unavailable(/a redirect to what is no web address/));
      await rejects(open("/page/f"), { kind: "malformed", message: /found a web page/ });
      const source = await open(`${login}/login/f`);
      equal(source.name, `${server.url}/login/f`);
      await readsRight(source);
    }),
);

testWithNginx(
  "a redirect to another host is followed, and the login stays behind",
  () =>
    withNginx(async ({ server, open }) => {
      const source = await open(server.url.replace("//", "//me:secret@") + "/away/f");
      equal(source.name, `${server.url}/away/f`);
      await readsRight(source);
      const log = await server.log(3);
      // The second read goes straight to where the first was sent.
      deepEqual(log.map(({ host, status }) => [host.split(":")[0], status]), [
        ["127.0.0.1", 302],
        ["localhost", 206],
        ["localhost", 206],
      ]);
      ok(log[0].authorization.startsWith("Basic "));
      deepEqual(log.slice(1).map(({ authorization }) => authorization), ["-", "-"]);
    }),
);

testWithNginx(
  "a redirect that has expired is asked for anew",
  () =>
    withProxy(async (proxy, open) => {
      const { url } = proxy;
      const away = { status: 302, headers: { Location: `${url}/f?signed` } };
      proxy.fault = (n) =>
        [away, "none", { status: 403 }, away, "none"][n] as ReturnType<
          typeof proxy.fault
        >;
      await readsRight(await open());
      equal(proxy.count, 5);
    }),
);

testWithNginx(
  "a connection that breaks or a short body costs only the missing bytes",
  () =>
    withProxy(async (proxy, open) => {
      for (const fault of ["cut", "short", "stall"] as const) {
        proxy.count = 0;
        proxy.fault = (n) => n === 1 || n === 2 ? fault : "none";
        const before = TRAFFIC.bytes;
        await readsRight(await open());
        equal(proxy.count, 4, fault);
        equal(TRAFFIC.bytes - before, 4096 + 50_000, fault);
        // The first answer as well.
        proxy.count = 0;
        proxy.fault = (n) => n === 0 ? fault : "none";
        await readsRight(await open());
      }
    }),
);

testWithNginx(
  "429 and 5xx are repeated with growing waits, and given up at last",
  () =>
    withProxy(async (proxy, open) => {
      for (const status of [408, 429, 500, 502, 503, 504]) {
        proxy.count = 0;
        proxy.fault = (n) => n % 3 < 2 ? { status } : "none";
        await readsRight(await open());
        equal(proxy.count, 6);
      }
      proxy.fault = () => ({ status: 429, headers: { "Retry-After": "0" } });
      proxy.count = 0;
      await rejects(open(), unavailable(/too many requests \(429\), tried 6 times/, /later/));
      equal(proxy.count, 6);
      proxy.fault = () => ({ status: 503 });
      await rejects(open(), unavailable(/the server failed \(503\), tried 6 times/));
      proxy.count = 0;
      proxy.fault = () => ({ status: 429, headers: { "Retry-After": "3600" } });
      await rejects(open(), unavailable(/the server asks to wait 3600 s/));
      equal(proxy.count, 1);
      proxy.fault = () => "cut";
      await rejects(open(), unavailable(/the answer was cut off|the connection failed/));
      proxy.fault = () => "stall";
      await rejects(open(), unavailable(/nothing came for 0.3 s|cut off after/));
    }),
);

testWithNginx(
  "a file that changes while it is read is an error, never a mix",
  () =>
    withProxy(async (proxy, open, folder) => {
      const changed = unavailable(/the file was changed while it was read/, /again/);
      // By its ETag, on the real server.
      let source = await open();
      Deno.writeFileSync(`${folder}/f`, BYTES.toReversed());
      Deno.utimeSync(`${folder}/f`, new Date(), new Date(Date.now() + 5000));
      await rejects(readsRight(source), changed);
      Deno.writeFileSync(`${folder}/f`, BYTES);
      // By a weak ETag, by its date, by its size, by a server that checks for itself.
      const pins: Record<string, string>[] = [{ ETag: 'W/"1"' }, { ETag: "" }];
      const later = [{ ETag: 'W/"2"' }, { ETag: "", "Last-Modified": "later" }];
      for (const [i, headers] of pins.entries()) {
        proxy.fault = () => ({ headers });
        source = await open();
        await readsRight(source);
        proxy.fault = () => ({ headers: later[i] });
        await rejects(readsRight(source), changed);
      }
      proxy.fault = () => "none";
      source = await open();
      proxy.fault = () => ({ headers: { "Content-Range": `bytes 100000-149999/${SIZE + 1}` } });
      await rejects(readsRight(source), changed);
      proxy.fault = () => ({ status: 412 });
      await rejects(readsRight(source), unavailable(/was changed while it was read \(412\)/));
      proxy.fault = () => ({ status: 416 });
      await rejects(readsRight(source), unavailable(/the file was shortened \(416\)/));
    }),
);

testWithNginx(
  "an answer with another range than the one asked for is refused",
  () =>
    withProxy(async (proxy, open) => {
      const source = await open();
      for (
        const text of [`bytes 0-49999/${SIZE}`, `bytes 100000-150000/${SIZE}`, "bytes */9", ""]
      ) {
        proxy.fault = () => ({ headers: { "Content-Range": text } });
        await rejects(readsRight(source), unavailable(/wanted the one asked for/));
      }
      proxy.fault = () => ({ headers: { "Content-Range": `bytes 5-4100/${SIZE}` } });
      await rejects(open(), unavailable(/the server gave the range "bytes 5-4100/));
    }),
);

testWithNginx(
  "fetched ranges are kept in a folder, for this version of the file alone",
  () =>
    withNginx(async ({ folder, open }) => {
      const cacheFolder = `${folder}/cache`;
      const openCache: HttpOptions["openCache"] = (url, identity) =>
        RangeLog.open(cacheFolder, url, identity);
      const once = async (expected: number, offset?: number, length?: number) => {
        const source = await open("/f", { openCache });
        const before = TRAFFIC.requests;
        await readsRight(source, offset, length);
        equal(TRAFFIC.requests - before, expected);
        source.close();
      };
      await once(1);
      await once(0);
      await once(0, 110_000, 10);
      await once(1, 149_000, 2000);
      const [log] = [...Deno.readDirSync(cacheFolder)];
      const path = `${cacheFolder}/${log.name}`;
      const { size } = Deno.statSync(path);
      // A torn record is cut off, and what came before it still serves.
      Deno.truncateSync(path, size - 100);
      await once(0, 110_000, 10);
      await once(1, 149_000, 2000);
      equal(Deno.statSync(path).size, size);
      // A damaged record is fetched anew.
      const bytes = Deno.readFileSync(path);
      bytes[1000] ^= 1;
      Deno.writeFileSync(path, bytes);
      await once(1);
      await once(0);
      // Another version has a log of its own.
      Deno.utimeSync(`${folder}/f`, new Date(), new Date(Date.now() + 5000));
      await once(1);
      equal([...Deno.readDirSync(cacheFolder)].length, 2);
    }),
);
