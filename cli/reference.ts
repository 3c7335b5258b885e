import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { ABOUT } from "./command.ts";
import type { Permission } from "./permissions.ts";

/** The reference of every command in Markdown, made from the command table. */
export function reference(root: CommandUnknownOpts): string {
  return root.commands.filter((command) => ABOUT.has(command)).map(section).join("\n");
}

function section(command: CommandUnknownOpts): string {
  const about = ABOUT.get(command)!;
  const help = command.createHelp();
  const items = [
    ...help.visibleArguments(command).map((argument) =>
      item(help.argumentTerm(argument), help.argumentDescription(argument))
    ),
    ...help.visibleOptions(command)
      .filter((option) => !SHARED.includes(option.long ?? ""))
      .map((option) => item(help.optionTerm(option), help.optionDescription(option))),
  ];
  const examples = about.examples.map(([line, does]) => `# ${does}\nengram ${line}`).join("\n");
  return [
    `### engram ${command.name()}`,
    `${about.summary}.${about.details ? ` ${about.details}` : ""}`,
    `\`\`\`\nengram ${command.name()} ${command.usage()}\n\`\`\``,
    ...(items.length ? [items.join("\n")] : []),
    `\`\`\`sh\n${examples}\n\`\`\``,
    permissions(about.permissions),
  ].join("\n\n") + "\n";
}

function permissions(needed: readonly Permission[]): string {
  if (needed.length === 0) return "Needs no permission.";
  const items = needed.map(([flags, when]) => `- \`${flags}\`${when ? ` ${when}` : ""}`);
  return `Needs\n\n${items.join("\n")}`;
}

/** Options every command has; said once, above the reference. */
const SHARED = ["--json", "--quiet", "--help"];

function item(term: string, description: string): string {
  return `- \`${term}\`: ${description.replaceAll("\n", " ")}`;
}
