/** Digests files in a thread of its own; see `check_sums.ts`. */
import { openFile } from "../bytes/file_source.ts";
import { sha256Of } from "./sha256_of.ts";
import { answerTasks } from "../workers/answer_tasks.ts";

/** A file to digest. */
export interface SumTask {
  /** Its name as the list has it. */
  readonly file: string;
  /** Where it lies. */
  readonly path: string;
}

answerTasks(async ({ path }: SumTask): Promise<string> => {
  const source = openFile(path);
  try {
    return await sha256Of(source);
  } finally {
    source.close();
  }
});
