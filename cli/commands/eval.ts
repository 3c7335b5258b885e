import { openCheckpoint } from "../../lib/checkpoint/open_checkpoint.ts";
import { EngramError } from "../../lib/errors.ts";
import { begin, command } from "../command.ts";
import { deviceOption, openDevice } from "../device.ts";
import { evaluateTokens, KEPT } from "../evaluate_tokens.ts";
import { LayerTables } from "../layer_tables.ts";
import { noteCache } from "../note_cache.ts";
import { openRunner } from "../open_runner.ts";
import { DISK_SPACE, MAPPED, NATIVE_TOKENIZER, READ, REMOTE, writeWith } from "../permissions.ts";
import { GateRecord } from "../report/gate_record.ts";
import { openPage, writePage } from "../report/write_page.ts";
import { BACKENDS, rankChoice, withRankOptions } from "../rank_options.ts";
import { openHidden } from "../hidden_option.ts";
import { integer } from "../options.ts";
import { openTokenInput } from "../token_input.ts";
import { withTokenOptions } from "../token_options.ts";
import { checkTokenOutput } from "../token_output.ts";
import { count, counted } from "../units.ts";

/** `engram eval`: the module as a whole, on a text. */
export function evalCommand() {
  return withRankOptions(withTokenOptions(
    command("eval", {
      summary: "Run the Engram module on a text: hash, rows, projection and gate of every layer",
      details: "Each layer adds gate * value to a residual stream, which comes from --hidden " +
        "(safetensors, layers.N.hidden BF16 [T, copies, hidden]) or is made up by --seed: " +
        "bf16 values even over [-1, 1], element i (in the order token, copy, value) of layer l being " +
        "floor(u / 2^8) / 2^23 - 1 with u = mix(mix(mix(mix(seed) ^ l) ^ floor(i / 2^32)) ^ " +
        "(i mod 2^32)), mix the finalizer of 32-bit murmur3. Dead tokens have gate 0 and pass " +
        "unchanged.\n\n" +
        "Writes layers.N.gate F32 [T, copies] and layers.N.output BF16 [T, copies, hidden], with " +
        "token_ids, dead and starts; --keep adds layers.N.rows [T, columns, head_dim], " +
        "layers.N.kv [T, (copies + 1) * hidden] and layers.N.hidden. A .npy file holds the " +
        "outputs alone, float32 [T, layers, copies, hidden]. Without --out it shows " +
        "which tokens open the gates most and least.\n\n" +
        "With --tp or --shards the module runs as its ranks would, all of them in this process; " +
        `the result is the same.\n\nOf --backend: ${BACKENDS}`,
      examples: [
        ["eval MODEL --text book.txt --seed 1", "which tokens open the gates"],
        [
          "eval MODEL --ids x.safetensors --hidden x.safetensors --out y.safetensors",
          "real streams",
        ],
        ["eval MODEL --text book.txt --seed 1 --html gates.html", "a page to read the gates in"],
        ["eval MODEL --text a.txt --seed 1 --keep rows,kv --out y.safetensors", "with all between"],
      ],
      permissions: [
        READ,
        writeWith("--out and --html"),
        DISK_SPACE,
        NATIVE_TOKENIZER,
        MAPPED,
        REMOTE,
      ],
    }).argument("<checkpoint>", "folder of the model's files"),
  ))
    .option("--hidden <file>", "the stream that enters each layer")
    .option("--seed <s>", "make the stream up from this number", integer("--seed", 0, 2 ** 32 - 1))
    .option("--keep <list>", `also write, comma-separated: ${KEPT.join(", ")}`, keepList)
    .option("--sequence-parallel", "with ranks: each computes its own tokens, instead of all")
    .addOption(deviceOption())
    .option("--out <file>", "write gates and outputs: .safetensors, .npy or .jsonl")
    .option("--html <file>", "write a page: the text shaded by its gates, its n-grams and rows")
    .option("--force", "replace --out and --html where they exist")
    .action(async (place, options) => {
      const context = begin(options);
      const { printer } = context;
      const { out, keep = new Set(), force = false, sequenceParallel: sequence = false } = options;
      const request = rankChoice(options);
      if (sequence && !request && options.shards === undefined) {
        throw new EngramError("usage", "Cannot use --sequence-parallel without --tp or --shards");
      }
      if (out !== undefined) checkTokenOutput(out, force);
      if (keep.size > 0 && (out === undefined || out.endsWith(".npy"))) {
        const place = out === undefined ? "without --out" : `with \`${out}\``;
        throw new EngramError("usage", `Cannot use --keep ${place}: there is nowhere to write`, {
          hint: "Name a .safetensors file with --out: it holds any number of tensors",
        });
      }
      using stack = new DisposableStack();
      const html = options.html === undefined ? null : stack.use(openPage(options.html, force));
      const checkpoint = stack.adopt(await openCheckpoint(place), (opened) => opened.close());
      for (const warning of checkpoint.warnings) printer.warn(warning);
      const { config, layers } = checkpoint;
      const hidden = stack.adopt(
        await openHidden(options, {
          layerIds: layers.map(({ layerId }) => layerId),
          copies: config.hcMult,
          hidden: config.hiddenSize,
        }),
        (opened) => opened.close(),
      );
      const input = await openTokenInput(options, checkpoint, context);
      const tables = stack.use(
        await LayerTables.open(checkpoint, input.layout, request, options),
      );
      const opened = stack.adopt(
        await openDevice(options.device, printer),
        ({ kernels }) => kernels.close(),
      );
      await tables.load(layers.map(({ layerId }) => layerId), opened, context);
      const runner = stack.adopt(
        await openRunner(tables, opened, input, checkpoint.config, sequence),
        (opened) => opened.close(),
      );
      const { kernels, kernels: { device } } = opened;
      const record = html && new GateRecord(
        layers.map(({ layerId }) => layerId),
        config.hcMult,
        input.layout.columns,
      );
      const job = { checkpoint, input, device, runner, hidden, keep, out, force, record };
      const { counts, summary } = await evaluateTokens(job, context);
      noteCache(printer, tables.cacheCounts);
      if (html) {
        const { gatePage } = await import("../report/gate_page.ts");
        const requests = counted(counts.requests, "request");
        const subtitle = `${place}: ${counted(counts.tokens, "token")} of ${requests}, ` +
          `residual stream from ${hidden.description}, on ${kernels.description}`;
        const { layout, map: { map }, tokenizer } = input;
        const split = tables.choice ?? { tp: DEFAULT_TP };
        writePage(html, await gatePage(record!, { subtitle, layout, map, tokenizer, split }));
      }
      const value = {
        tokens: counts.tokens,
        requests: counts.requests,
        dead_tokens: counts.dead,
        hidden: hidden.description,
        device: kernels.description,
        ranks: tables.choice ? tables.choice.tp * (tables.choice.dp ?? 1) : null,
        layers: summary.json(),
        out: out ?? null,
        html: options.html ?? null,
      };
      printer.result(value, () =>
        [
          `${counted(counts.tokens, "token")} of ${counted(counts.requests, "request")}, ` +
          `${count(counts.dead)} dead; hidden from ${hidden.description}`,
          ...(out === undefined ? ["", summary.text()] : [`written to ${out}`]),
          ...(html ? [`page written to ${html.path}`] : []),
        ].join("\n"));
    });
}

/** Ranks a page shows the load of, where none were asked for. */
const DEFAULT_TP = 4;

function keepList(text: string): Set<typeof KEPT[number]> {
  const wanted = new Set<typeof KEPT[number]>();
  for (const name of text.split(",").map((part) => part.trim())) {
    const kept = KEPT.find((one) => one === name);
    if (kept) wanted.add(kept);
    else {
      throw new EngramError(
        "usage",
        `Cannot read --keep: found "${name}", wanted some of ${KEPT.join(", ")}`,
        { where: "--keep" },
      );
    }
  }
  return wanted;
}
