import { EngramError } from "../../lib/errors.ts";
import { begin, command } from "../command.ts";
import { deviceOption } from "../device.ts";
import { doctorReport, doctorText } from "../doctor_report.ts";

/** `engram doctor`: what will run here, and why not. */
export function doctorCommand() {
  return command("doctor", {
    summary: "Say what will run here, and why not: Deno, GPU, limits, features, permissions",
    details:
      "Tries every kernel on the GPU with one small batch. Opens no file and no connection. With " +
      "--device gpu a GPU that cannot be used ends it with exit code 6; with --device cpu none is " +
      "looked for.",
    examples: [
      ["doctor", "the GPU found, what it can do, and which permissions are missing"],
      ["doctor --json", "the same as one JSON object"],
      ["doctor --device gpu", "fail where no GPU can be used"],
    ],
    permissions: [],
  }).addOption(deviceOption()).action(async (options) => {
    const { printer } = begin(options);
    const report = await doctorReport(options.device);
    printer.result(report, () => doctorText(report));
    const [{ runs, why, hint }] = report.jobs;
    if (options.device === "gpu" && !runs) {
      throw new EngramError("no_gpu", `Cannot use a GPU: ${why}`, hint === null ? {} : { hint });
    }
  });
}
