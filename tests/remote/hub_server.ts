import { type Server, startNginx } from "./nginx.ts";

/** What the hub in the tests wants to see. It must never reach anyone else, nor any output. */
export const TOKEN = "hf_theSecretOfTheTests";

/** A server that answers like the hub for the repository `org/model`, files of `folder`. */
export async function startHub(folder: string, files: readonly string[]): Promise<Server> {
  const half = files.length >> 1;
  const page = (names: readonly string[]) =>
    JSON.stringify([
      { type: "directory", path: "figures", size: 0, oid: "0" },
      ...names.map((path) => ({ type: "file", path, size: 1, oid: "0" })),
    ]);
  return await startNginx(
    folder,
    `
    set $repository denied;
    if ($http_authorization = "Bearer ${TOKEN}") { set $repository open; }
    location = /api/models/org/model/tree/main {
      if ($repository = denied) { return 401; }
      default_type application/json;
      set $page '${page(files.slice(0, half))}';
      if ($arg_cursor) { set $page '${page(files.slice(half))}'; }
      set $next '<http://127.0.0.1:$server_port$uri?cursor=2>; rel="next"';
      if ($arg_cursor) { set $next ''; }
      add_header Link $next;
      return 200 $page;
    }
    location = /api/models/org/model/tree/v9 {
      add_header X-Error-Code RevisionNotFound always;
      return 404;
    }
    location ~ ^/org/model/resolve/(main|v1\\.0|refs/pr/1)/(.*)$ {
      if ($repository = denied) { return 401; }
      return 302 http://localhost:$server_port/blobs/$2?X-Signature=alsoSecret;
    }
    location ~ ^/mirror/model/resolve/main/(.*)$ { alias ${folder}/$1; }
    location /gated/model/ { return 403; }
    location /blobs/ { alias ${folder}/; }
  `,
  );
}

/** Runs `test` with these environment variables alone among the hub's own. */
export async function withEnvironment(
  variables: Record<string, string>,
  test: () => Promise<void>,
): Promise<void> {
  const names = ["HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_TOKEN"];
  names.push("HF_TOKEN_PATH", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "XDG_CACHE_HOME");
  const before = names.map((name) => [name, Deno.env.get(name)] as const);
  names.forEach((name) => Deno.env.delete(name));
  Object.entries(variables).forEach(([name, value]) => Deno.env.set(name, value));
  try {
    await test();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
}
