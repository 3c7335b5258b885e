/** A running nginx that serves a folder. */
export interface Server {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** The same server under another name: another origin. */
  readonly otherUrl: string;
  /** The access log, once it has `count` lines: nginx writes them after its answers. */
  log(count: number): Promise<LogLine[]>;
  stop(): Promise<void>;
}

/** One request as nginx saw it. */
export interface LogLine {
  readonly host: string;
  readonly path: string;
  readonly range: string;
  readonly authorization: string;
  readonly status: number;
  readonly bytes: number;
}

/** Where Debian puts nginx; undefined where it is not installed. */
const NGINX = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"].find(exists);

/** Declares a test that needs nginx: skipped with a reason outside CI, a failure inside. */
export function testWithNginx(name: string, test: () => Promise<void>): void {
  const ignore = NGINX === undefined && !Deno.env.get("CI");
  if (ignore) console.log(`skipped, because nginx is not installed: ${name}`);
  Deno.test({ name, ignore, fn: test });
}

/** Starts nginx on a free port of the loopback; `locations` are added to its server block. */
export async function startNginx(root: string, locations = ""): Promise<Server> {
  if (NGINX === undefined) throw new Error("nginx is not installed: apt-get install nginx-light");
  const folder = Deno.makeTempDirSync({ prefix: "engram-nginx-" });
  const port = freePort();
  Deno.writeTextFileSync(`${folder}/nginx.conf`, config(folder, root, port, locations));
  const child = new Deno.Command(NGINX, {
    args: ["-p", folder, "-c", `${folder}/nginx.conf`, "-e", `${folder}/error.log`],
    stdout: "null",
    stderr: "null",
  }).spawn();
  await ready(port, () => Deno.readTextFileSync(`${folder}/error.log`));
  return {
    url: `http://127.0.0.1:${port}`,
    otherUrl: `http://localhost:${port}`,
    async log(count) {
      const path = `${folder}/access.log`;
      for (let tried = 0; tried < 200 && readLog(path).length < count; tried++) await pause();
      return readLog(path);
    },
    async stop() {
      child.kill("SIGTERM");
      await child.status;
      Deno.removeSync(folder, { recursive: true });
    },
  };
}

function config(folder: string, root: string, port: number, locations: string): string {
  const scratch = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
  return `
    ${Deno.uid() === 0 ? "user root;" : ""}
    daemon off; master_process off; pid ${folder}/nginx.pid;
    events { worker_connections 256; }
    http {
      ${scratch}
      log_format seen '$http_host\\t$uri\\t$http_range\\t$http_authorization\\t$status\\t$body_bytes_sent';
      access_log ${folder}/access.log seen;
      server {
        listen 127.0.0.1:${port}; ${hasIpv6() ? `listen [::1]:${port};` : ""}
        root ${root};
        ${locations}
      }
    }`;
}

function readLog(path: string): LogLine[] {
  return Deno.readTextFileSync(path).split("\n").filter(Boolean).map((line) => {
    const [host, path, range, authorization, status, bytes] = line.split("\t");
    return { host, path, range, authorization, status: Number(status), bytes: Number(bytes) };
  });
}

/** Waits until the server takes connections. */
async function ready(port: number, error: () => string): Promise<void> {
  for (let tried = 0; tried < 200; tried++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await pause();
    }
  }
  throw new Error(`nginx does not start: ${error()}`);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** `localhost` may lead to either address. */
function hasIpv6(): boolean {
  try {
    Deno.listen({ hostname: "::1", port: 0 }).close();
    return true;
  } catch {
    return false;
  }
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
