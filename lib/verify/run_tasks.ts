import { EngramError } from "../errors.ts";
import { type Answer, answerError } from "../workers/answer_tasks.ts";

/** How {@linkcode runTasks} works. */
export interface TaskOptions<T, R> {
  /** The worker's module: it answers each message with an {@linkcode Answer}. */
  readonly module: URL;
  /** Workers at once. */
  readonly workers: number;
  /** Called in this thread with each result, in the order they come in. */
  readonly onResult: (result: R, task: T) => void;
  /** Stops the work with an `EngramError` of kind `interrupted`. */
  readonly signal?: AbortSignal | undefined;
}

/** Gives each task to the next free worker; ends with the last one, or with the first error. */
export async function runTasks<T, R>(
  tasks: readonly T[],
  options: TaskOptions<T, R>,
): Promise<void> {
  const { module, onResult, signal } = options;
  const count = Math.max(1, Math.min(options.workers, tasks.length));
  const workers: Worker[] = [];
  let next = 0;
  const one = (worker: Worker) =>
    new Promise<void>((resolve, reject) => {
      const give = () => next < tasks.length ? worker.postMessage(tasks[next++]) : resolve();
      let current: T = tasks[next];
      worker.onmessage = ({ data }: MessageEvent<Answer<R>>) => {
        if ("error" in data) return reject(answerError(data.error));
        try {
          onResult(data.result, current);
        } catch (error) {
          return reject(error);
        }
        current = tasks[next];
        give();
      };
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
      give();
    });
  const { promise: stopped, reject: stop } = Promise.withResolvers<never>();
  const interrupt = () => stop(new EngramError("interrupted", "Interrupted"));
  try {
    if (signal?.aborted) throw new EngramError("interrupted", "Interrupted");
    signal?.addEventListener("abort", interrupt);
    for (let i = 0; i < count; i++) workers.push(new Worker(module, { type: "module" }));
    await Promise.race([Promise.all(workers.map(one)), stopped]);
  } finally {
    signal?.removeEventListener("abort", interrupt);
    for (const worker of workers) worker.terminate();
  }
}
