import type { Command, CommandUnknownOpts, OptionValues } from "@commander-js/extra-typings";
import { collect, integer } from "./options.ts";
import type { Part } from "./part.ts";

/** The options by which a command is given its tokens; see {@linkcode withTokenOptions}. */
export type TokenOptions = {
  readonly text?: string[] | undefined;
  readonly ids?: string | undefined;
  readonly tokenizer?: string | undefined;
  readonly map?: string | undefined;
  readonly deadToken?: number[] | undefined;
  readonly specialTokens?: boolean | undefined;
  /** Only of commands that offer `--part`. */
  readonly part?: Part | undefined;
};

/**
 * Adds the options `--text`, `--ids`, `--tokenizer`, `--map`, `--no-special-tokens` and `--dead-token`
 * to a command. Their
 * types are stated, not inferred: long chains of inferred options take the compiler minutes.
 */
export function withTokenOptions<
  A extends unknown[],
  O extends OptionValues,
  G extends OptionValues,
>(command: Command<A, O, G>): Command<A, O & TokenOptions, G> {
  (command as unknown as CommandUnknownOpts)
    .option("--text <file...>", "text files or folders of them, each file a request; - is stdin")
    .option(
      "--ids <file>",
      "token ids: safetensors (token_ids, dead), .npy, JSON or plain integers",
    )
    .option("--tokenizer <path>", "tokenizer.json or its folder, instead of the checkpoint's own")
    .option("--map <file>", "a token map saved by `engram map --out`, instead of building it")
    .option(
      "--no-special-tokens",
      "leave out the tokens that the tokenizer itself puts around a text",
    )
    .option(
      "--dead-token <id>",
      "a token id that takes no part in n-grams, beside the config's; repeatable",
      collect(integer("--dead-token", 0, 2 ** 31 - 1)),
    );
  return command as unknown as Command<A, O & TokenOptions, G>;
}
