import { begin, command } from "../command.ts";
import { doctorReport, doctorText } from "../doctor_report.ts";

/** `engram doctor`: what will run here, and why not. */
export function doctorCommand() {
  return command("doctor", {
    summary: "Say what will run here, and why not: Deno, GPU, limits, features, permissions",
    details: "Tries every kernel on the GPU with one small batch. Opens no file and no connection.",
    examples: [
      ["doctor", "the GPU found, what it can do, and which permissions are missing"],
      ["doctor --json", "the same as one JSON object"],
    ],
    permissions: [],
  }).action(async (options) => {
    const { printer } = begin(options);
    const report = await doctorReport();
    printer.result(report, () => doctorText(report));
  });
}
