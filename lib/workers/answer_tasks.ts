import { EngramError, type ErrorKind } from "../errors.ts";

/** An error in parts that can be sent between threads. */
export interface AnsweredError {
  /** The kind of an `EngramError`; null for any other error. */
  readonly kind: ErrorKind | null;
  /** Its message. */
  readonly message: string;
  /** As of the `EngramError`. */
  readonly where?: string;
  /** As of the `EngramError`. */
  readonly hint?: string;
}

/** What a worker answers. */
export type Answer<R> = { readonly result: R } | { readonly error: AnsweredError };

/** In a worker: answers every message with what `work` makes of it. */
export function answerTasks<T, R>(work: (task: T) => Promise<R> | R): void {
  const scope = self as unknown as {
    onmessage: (event: MessageEvent<T>) => void;
    postMessage(answer: Answer<R>): void;
  };
  scope.onmessage = async ({ data }) => {
    try {
      scope.postMessage({ result: await work(data) });
    } catch (error) {
      scope.postMessage({ error: partsOf(error) });
    }
  };
}

function partsOf(error: unknown): AnsweredError {
  if (error instanceof EngramError) {
    const { kind, message, where, hint } = error;
    return { kind, message, ...(where ? { where } : {}), ...(hint ? { hint } : {}) };
  }
  return { kind: null, message: error instanceof Error ? error.message : String(error) };
}

/** The error a worker answered with, as it was thrown there. */
export function answerError(parts: AnsweredError): Error {
  const { kind, message, ...options } = parts;
  return kind === null ? new Error(message) : new EngramError(kind, message, options);
}
