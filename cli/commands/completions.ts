import { Argument } from "@commander-js/extra-typings";
import { begin, command } from "../command.ts";
import { completionScript, SHELLS } from "../completion_script.ts";

/** `engram completions`: prints a completion script for a shell. */
export function completionsCommand() {
  const made = command("completions", {
    summary: "Print a completion script for your shell",
    examples: [
      ["completions bash >> ~/.bashrc", "complete commands, flags and files in bash"],
      ["completions fish | source", "the same in the running fish"],
    ],
    permissions: [],
  })
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell, options) => {
      const { printer } = begin(options);
      const script = completionScript(made.parent!, shell);
      printer.result({ shell, script }, () => script);
    });
  return made;
}
