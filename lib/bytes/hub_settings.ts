import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { EngramError } from "../errors.ts";
import { fileError } from "./file_error.ts";

/** The model hub's settings, from the variables its Python library reads. */
export interface HubSettings {
  /** `HF_ENDPOINT`, without a slash at the end. */
  readonly endpoint: string;
  /** Where downloads are kept: `HF_HUB_CACHE`, or `hub` in `HF_HOME`. */
  readonly cacheFolder: string;
  /** `HF_HUB_OFFLINE`: nothing is fetched. */
  readonly offline: boolean;
  /** `HF_TOKEN`, or the token that `hf auth login` stored. Never printed. */
  readonly token: string | undefined;
}

/** Reads the settings from the environment; the token only when it is asked for. */
export function hubSettings(): HubSettings {
  const cacheHome = env("XDG_CACHE_HOME") ?? join(homeFolder(), ".cache");
  const home = expand(env("HF_HOME") ?? join(cacheHome, "huggingface"));
  const cache = env("HF_HUB_CACHE") ?? env("HUGGINGFACE_HUB_CACHE") ?? join(home, "hub");
  return {
    endpoint: (env("HF_ENDPOINT") ?? "https://huggingface.co").replace(/\/+$/, ""),
    cacheFolder: expand(cache),
    offline: /^(1|on|yes|true)$/i.test(env("HF_HUB_OFFLINE") ?? ""),
    get token() {
      return hubToken(expand(env("HF_TOKEN_PATH") ?? join(home, "token")));
    },
  };
}

function hubToken(path: string): string | undefined {
  const token = env("HF_TOKEN") ?? env("HUGGING_FACE_HUB_TOKEN") ?? storedToken(path);
  if (token === undefined || /^[\x21-\x7e]+$/.test(token)) return token;
  throw new EngramError(
    "usage",
    "Cannot use the hub's token: found characters that no token has",
    { where: "HF_TOKEN", hint: "Set HF_TOKEN to the token alone, or run `hf auth login` again" },
  );
}

function env(name: string): string | undefined {
  return process.env[name]?.trim() || undefined;
}

function storedToken(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim() || undefined;
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return undefined;
    throw fileError("read the hub's token from", path, error);
  }
}

function expand(path: string): string {
  return path === "~" || path.startsWith("~/") ? join(homeFolder(), path.slice(1)) : path;
}

/** Not `homedir()`, which wants a permission of its own. */
function homeFolder(): string {
  return env("HOME") ?? env("USERPROFILE") ?? ".";
}
