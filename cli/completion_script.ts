import type { CommandUnknownOpts } from "@commander-js/extra-typings";

/** Shells a script can be made for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** One of {@linkcode SHELLS}. */
export type Shell = typeof SHELLS[number];

interface Flag {
  readonly names: readonly string[];
  readonly about: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

interface Words {
  readonly name: string;
  readonly about: string;
  readonly flags: readonly Flag[];
}

/**
 * A completion script for the whole command tree. It is static, so completing never starts the
 * program; anything that is no command or flag is left to the shell's own file completion, since
 * nearly all arguments are paths.
 */
export function completionScript(root: CommandUnknownOpts, shell: Shell): string {
  const commands = root.createHelp().visibleCommands(root).map(wordsOf);
  return { bash, zsh, fish }[shell](commands);
}

function wordsOf(command: CommandUnknownOpts): Words {
  const flags = command.createHelp().visibleOptions(command).map((option) => ({
    names: [option.short, option.long].filter((name) => name !== undefined),
    about: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
  }));
  return { name: command.name(), about: command.summary() || command.description(), flags };
}

function bash(commands: readonly Words[]): string {
  const cases = commands.map(({ name, flags }) => {
    const values = flags.filter((flag) => flag.choices.length).map((flag) =>
      `      ${flag.names.join("|")}) COMPREPLY=($(compgen -W "${
        flag.choices.join(" ")
      }" -- "$cur")); return ;;`
    );
    const previous = values.length ? `case "$prev" in\n${values.join("\n")}\n    esac\n    ` : "";
    const names = flags.flatMap((flag) => flag.names).join(" ");
    return `  ${name})
    ${previous}[[ "$cur" == -* ]] && COMPREPLY=($(compgen -W "${names}" -- "$cur")) ;;`;
  });
  return `# bash completion for engram: source <(engram completions bash)
_engram() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "${commands.map((c) => c.name).join(" ")}" -- "$cur"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
}
complete -o default -F _engram engram
`;
}

function zsh(commands: readonly Words[]): string {
  const quoted = (text: string) => text.replaceAll("'", "'\\''").replaceAll(/[[\]:]/g, "\\$&");
  const cases = commands.map(({ name, flags }) => {
    const specs = flags.flatMap((flag) =>
      flag.names.map((spelling) => {
        const value = flag.choices.length ? `:value:(${flag.choices.join(" ")})` : ":value:_files";
        return `      '*${spelling}[${quoted(flag.about)}]${flag.takesValue ? value : ""}'`;
      })
    );
    return `    ${name}) _arguments \\\n${specs.join(" \\\n")} \\\n      '*:file:_files' ;;`;
  });
  const list = commands.map(({ name, about }) => `    '${name}:${quoted(about)}'`);
  return `#compdef engram
# zsh completion for engram: engram completions zsh > "\${fpath[1]}/_engram"
_engram() {
  local -a commands=(
${list.join("\n")}
  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local name=$words[2]
  shift words; (( CURRENT-- ))
  case $name in
${cases.join("\n")}
  esac
}
compdef _engram engram
`;
}

function fish(commands: readonly Words[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap(({ name, about, flags }) => [
    `complete -c engram -n __fish_use_subcommand -f -a ${name} -d ${quoted(about)}`,
    ...flags.map((flag) => {
      const names = flag.names.map((spelling) =>
        spelling.startsWith("--") ? `-l ${spelling.slice(2)}` : `-s ${spelling.slice(1)}`
      );
      const value = flag.choices.length
        ? ` -x -a ${quoted(flag.choices.join(" "))}`
        : flag.takesValue
        ? " -r"
        : "";
      return `complete -c engram -n '__fish_seen_subcommand_from ${name}' ${
        names.join(" ")
      }${value} -d ${quoted(flag.about)}`;
    }),
  ]);
  return `# fish completion for engram: engram completions fish | source\n${lines.join("\n")}\n`;
}
