import type { FileProblem } from "../checkpoint/checkpoint_files.ts";
import { engramName } from "../checkpoint/engram_tensors.ts";
import { type Check, done, notChecked } from "./check.ts";
import type { Survey } from "./survey.ts";

/** Which disagreements count. */
export interface StructureOptions {
  /** Files without Engram tensors need not be there: only a part of the model was fetched. */
  readonly partial?: boolean;
}

/** Compares files, index, config, tensors and primes with each other; reads no tensor. */
export function verifyStructure(survey: Survey, options: StructureOptions = {}): Check[] {
  return [
    files(survey),
    index(survey, options.partial ?? false),
    config(survey),
    tensors(survey),
    layout(survey),
  ];
}

function files({ files }: Survey): Check {
  if (files.files.size === 0) return notChecked("files", "no safetensors file was given");
  const duplicates = files.problems.filter(({ kind }) => kind === "duplicate_tensor");
  const count = files.tensors.size;
  return done(
    "files",
    `headers of ${files.files.size} ${files.files.size === 1 ? "file" : "files"}: ` +
      `${count} tensors fill the data exactly`,
    duplicates,
  );
}

/** Disagreements with the index that do not make it wrong. */
const HARMLESS: readonly FileProblem["kind"][] = ["unlisted_file", "total_size"];

function index({ files }: Survey, partial: boolean): Check {
  if (!files.index) return notChecked("index", "there is no index file");
  const needed = new Set<string>();
  for (const [tensor, file] of files.index.fileOf) if (engramName(tensor)) needed.add(file);
  const found = files.problems.filter(({ kind, file }) =>
    kind !== "duplicate_tensor" && !HARMLESS.includes(kind) &&
    !(partial && kind === "missing_file" && !needed.has(file))
  );
  const lacking = files.problems.filter(({ kind }) => kind === "missing_file").length;
  const there = files.index.files.length - lacking;
  return done(
    "index",
    `${files.index.fileOf.size} entries against ${there} of ${files.index.files.length} files, ` +
      "both ways",
    found,
  );
}

function config({ files, config, configError, engram }: Survey): Check {
  if (configError) {
    return done("config", "keys, types and limits", [
      { tensor: null, file: configError.where ?? null, message: configError.message },
    ]);
  }
  if (config) {
    return done("config", `${config.layerIds.length} Engram layers; keys, types and limits`, []);
  }
  if (files.configName === null) return notChecked("config", "there is no config.json");
  const [tensor] = [...engram.values()].flatMap(({ parts }) => [...parts.values()]);
  if (!tensor) return notChecked("config", "it has no Engram layers");
  const message = `the config has no Engram layers, but there is tensor ${
    JSON.stringify(tensor.name)
  }`;
  return done("config", "Engram layers", [
    { tensor: tensor.name, file: files.folder.path(files.configName), message },
  ]);
}

function tensors({ files, config, layers, layerFaults }: Survey): Check {
  if (files.shards) return notChecked("tensors", "a rank's shard: compared by --shards");
  if (!config) return notChecked("tensors", "there is no usable config to compare with");
  if (files.files.size === 0 && !files.index) {
    return notChecked("tensors", "no safetensors file was given");
  }
  const ids = layers.map(({ layerId }) => layerId).join(", ") || "none";
  return done(
    "tensors",
    `names, dtypes and shapes of layers ${ids} against the config`,
    layerFaults,
  );
}

function layout({ config, layout, layoutFaults }: Survey): Check {
  if (!config || !layout) return notChecked("layout", "there is no usable config to lay out");
  return done(
    "layout",
    `${layout.layers.length} × ${layout.columns} primes against row counts and tables`,
    layoutFaults,
  );
}
