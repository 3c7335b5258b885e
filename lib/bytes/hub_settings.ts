import { readFileSync } from "node:fs";
import { homedir } from "node:os";
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

/** Reads the settings from the environment. */
export function hubSettings(): HubSettings {
  const env = (name: string) => process.env[name]?.trim() || undefined;
  const cacheHome = env("XDG_CACHE_HOME") ?? join(homedir(), ".cache");
  const home = expand(env("HF_HOME") ?? join(cacheHome, "huggingface"));
  const cache = env("HF_HUB_CACHE") ?? env("HUGGINGFACE_HUB_CACHE") ?? join(home, "hub");
  const stored = expand(env("HF_TOKEN_PATH") ?? join(home, "token"));
  const token = env("HF_TOKEN") ?? env("HUGGING_FACE_HUB_TOKEN") ?? storedToken(stored);
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new EngramError(
      "usage",
      "Cannot use the hub's token: found characters that no token has",
      { where: "HF_TOKEN", hint: "Set HF_TOKEN to the token alone, or run `hf auth login` again" },
    );
  }
  return {
    endpoint: (env("HF_ENDPOINT") ?? "https://huggingface.co").replace(/\/+$/, ""),
    cacheFolder: expand(cache),
    offline: /^(1|on|yes|true)$/i.test(env("HF_HUB_OFFLINE") ?? ""),
    token,
  };
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
  return path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
}
