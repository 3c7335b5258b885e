import { EngramError } from "../errors.ts";
import { type HttpSettings, Passing } from "./http_request.ts";
import { interrupt, interrupted } from "./interrupt.ts";

/**
 * Repeats `attempt` while it fails in passing, with growing waits (or those the server asks for);
 * at the end of the patience an `EngramError` says what the last failure was.
 */
export async function retry<T>(
  name: string,
  settings: HttpSettings,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const { attempts, backoffMs, longestWaitMs } = settings;
  for (let tried = 1;; tried++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Passing)) throw error;
      const wait = error.waitMs ?? backoffMs * 2 ** (tried - 1) * (0.5 + Math.random() / 2);
      if (tried < attempts && wait <= longestWaitMs) {
        await sleep(wait, AbortSignal.any([signal, interrupt()]));
        continue;
      }
      const end = tried < attempts
        ? `and the server asks to wait ${Math.ceil(wait / 1000)} s`
        : `tried ${tried} times`;
      throw new EngramError("unavailable", `Cannot read \`${name}\`: ${error.message}, ${end}`, {
        where: name,
        hint: "Check the network and try again later",
        ...(error.cause === undefined ? {} : { cause: error.cause }),
      });
    }
  }
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(interrupt().aborted ? interrupted() : signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
