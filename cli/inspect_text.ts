import type { InspectReport } from "./inspect_report.ts";
import { ranges } from "./ranges.ts";
import { printable, table } from "./printer.ts";
import { bytes, count } from "./units.ts";

/** More files than this are summed up rather than listed. */
const MOST_FILES = 12;

/** What `engram inspect` prints for people. */
export function inspectText(report: InspectReport): string {
  return [
    summary(report),
    layers(report),
    shards(report),
    files(report),
    dtypes(report),
    tensors(report),
    oddities(report),
  ].filter((block) => block !== "").join("\n\n");
}

function summary(report: InspectReport): string {
  const { config, index } = report;
  const lines: [string, string][] = [];
  const many = plural(report.files.length, "file");
  lines.push([
    report.kind,
    report.kind === "config"
      ? report.path
      : `${report.path}: ${plural(report.tensor_count, "tensor")} in ${many}, ${
        bytes(report.tensor_bytes)
      }`,
  ]);
  if (report.model_type) lines.push(["model", report.model_type]);
  if (config) {
    const columns = (config.engram_max_ngram_size - 1) * config.engram_n_heads;
    lines.push([
      "engram",
      `layers ${
        config.engram_layer_ids.join(", ")
      }; n-grams 2 to ${config.engram_max_ngram_size} × ` +
      `${config.engram_n_heads} heads = ${columns} columns of ${config.engram_head_dim} values`,
    ]);
    const size = config.engram_compressed_vocab_size;
    lines.push([
      "tokens",
      `compressed vocabulary ${size === null ? "not given" : count(size)}, ` +
      `pad token ${config.engram_pad_token_id ?? "not given"}, ` +
      `dead tokens ${config.dead_token_ids.join(", ") || "none"}`,
    ]);
    lines.push([
      "stream",
      `hidden ${config.hidden_size ?? "not given"} × ${config.hc_mult ?? "?"} copies, ` +
      `norm epsilon ${config.rms_norm_eps ?? "not given"}`,
    ]);
  }
  if (index) {
    lines.push([
      "index",
      `${index.name}: ${plural(index.tensors, "tensor")} in ${plural(index.files, "file")}, ` +
      (index.missing_files > 0 ? `${count(index.missing_files)} of them not here, ` : "") +
      (index.agrees ? "agrees with the files" : "does not agree with the files"),
    ]);
  }
  if (report.kind !== "file") {
    lines.push(["tokenizer", report.tokenizer ?? "none beside the files"]);
  }
  return lines.map(([key, text]) => `${key.padEnd(10)}${text}`).join("\n");
}

function layers({ engram_layers }: InspectReport): string {
  if (engram_layers.length === 0) return "";
  return table(
    ["layer", "rows", "encoding", "row", "table", "of primes", "padding", "primes", "projection"],
    engram_layers.map((layer) => [
      layer.layer_id,
      count(layer.rows),
      layer.packed ? `${layer.encoding} packed` : layer.encoding,
      `${layer.row_bytes} B`,
      bytes(layer.table_bytes),
      layer.layout_rows === null ? "?" : count(layer.layout_rows),
      layer.padding_rows === null ? "–" : count(layer.padding_rows),
      layer.first_prime === null ? "?" : `${layer.first_prime} … ${layer.last_prime}`,
      layer.projection ?? "–",
    ]),
  );
}

/** What each rank holds, as the shards themselves say. */
function shards({ files }: InspectReport): string {
  const found = files.flatMap(({ shard, name }) => (shard ? [{ shard, name }] : []));
  if (found.length === 0) return "";
  return table(
    ["rank", "of", "split", "columns", "rows", "file"],
    found.map(({ shard, name }) => [
      shard.rank,
      shard.tp * shard.dp,
      shard.split,
      ranges(shard.layers[0]?.columns ?? []) || "none",
      shard.layers.map(({ rows }) => count(rows)).join(" + "),
      name,
    ]),
  );
}

function files({ files, kind }: InspectReport): string {
  if (kind === "file" && files.length === 1) {
    const metadata = Object.entries(files[0].metadata);
    if (metadata.length === 0) return "";
    return table(["metadata", "value"], metadata.map(([key, value]) => [key, shorten(value, 90)]));
  }
  if (files.length === 0) return "";
  const shown = files.length > MOST_FILES ? files.filter((file) => file.engram_tensors > 0) : files;
  const rest = files.length - shown.length;
  const text = table(
    ["file", "size", "tensors", "engram"],
    shown.map((file) => [file.name, bytes(file.bytes), file.tensors, file.engram_tensors]),
  );
  if (rest === 0) return text;
  return `${text}\nand ${plural(rest, "file")} without Engram tensors`;
}

function dtypes({ dtypes }: InspectReport): string {
  const rows = Object.entries(dtypes).sort(([, a], [, b]) => b.bytes - a.bytes);
  if (rows.length === 0) return "";
  return table(
    ["dtype", "tensors", "size"],
    rows.map(([dtype, { tensors, bytes: size }]) => [dtype, count(tensors), bytes(size)]),
  );
}

function tensors(report: InspectReport): string {
  const list = report.tensors ?? report.engram_tensors;
  if (list.length === 0) return "";
  return table(
    ["tensor", "dtype", "shape", "bytes", "file"],
    list.map((tensor) => [
      tensor.name,
      tensor.dtype,
      `[${tensor.shape.join(", ")}]`,
      count(tensor.bytes),
      tensor.file,
    ]),
  );
}

function oddities({ oddities }: InspectReport): string {
  return oddities.length === 0 ? "" : oddities.map((line) => `odd: ${printable(line)}`).join("\n");
}

function plural(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

function shorten(text: string, most: number): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
