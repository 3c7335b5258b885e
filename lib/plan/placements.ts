import type { Checkpoint, EngramLayer } from "../checkpoint/checkpoint.ts";
import { rowEncoding } from "../checkpoint/row_encoding.ts";
import { EngramError } from "../errors.ts";
import type { RowLayout } from "../layout/layout.ts";
import { rankSpans, type Split } from "../layout/rank_spans.ts";

/** The machines a model is to be served on; sizes in bytes. */
export interface Machines {
  /** Tensor-parallel ranks, one GPU each. */
  readonly tp: number;
  /** Data-parallel groups of them. */
  readonly dp: number;
  /** Hosts the tp * dp ranks are spread over, neighbours together. */
  readonly hosts: number;
  /** Memory of a GPU that the tables and the module may take. */
  readonly gpuMemory: number;
  /** Memory of a host that they may take, shared memory included. */
  readonly ram: number;
  /** Shared memory of a host (/dev/shm). */
  readonly shm: number;
  /** Tokens of a batch: rows that are not on the GPU pass through a buffer for one. */
  readonly batchTokens: number;
  /** How rows go to ranks. */
  readonly split: Split;
}

/** Bytes a placement takes where it takes most of each. */
export interface PlacementBytes {
  /** On one GPU. */
  readonly gpu: number;
  /** Of one host's memory, by processes of their own. */
  readonly hostPrivate: number;
  /** Of one host's shared memory. */
  readonly hostShared: number;
  /** On one host's disk. */
  readonly disk: number;
}

/** One way of placing the tables. */
export interface Placement {
  /** A word for it. */
  readonly name: string;
  /** What it means. */
  readonly about: string;
  /** What it takes. */
  readonly bytes: PlacementBytes;
  /** Bytes by rank on its GPU and in its own host memory. */
  readonly ranks: readonly { readonly gpu: number; readonly host: number }[];
  /** Whether all of it fits. */
  readonly fits: boolean;
  /** What does not fit. */
  readonly lacks: readonly {
    readonly of: "gpu" | "ram" | "shm";
    readonly wanted: number;
    readonly found: number;
  }[];
  /** Host memory left for a cache of rows; 0 where rows are in memory anyway. */
  readonly cacheBytes: number;
}

/** Bytes of a model's Engram layers. */
export interface TableSizes {
  /** By layer. */
  readonly layers: readonly {
    readonly layerId: number;
    /** Rows that primes reach; padding rows are placed nowhere. */
    readonly rows: number;
    readonly recordBytes: number;
    /** Projection and gate, whole on every rank. */
    readonly moduleBytes: number;
  }[];
}

/** The sizes of a checkpoint's Engram layers; of a config alone those of the released encoding. */
export function tableSizes(checkpoint: Checkpoint, layout: RowLayout): TableSizes {
  return {
    layers: layout.layers.map(({ layerId, rows }) => {
      const layer = checkpoint.layers.find((found) => found.layerId === layerId);
      const encoding = layer?.encoding ?? rowEncoding("fp8", checkpoint.config.headDim);
      const moduleBytes = storedModule(layer) ?? releasedModule(checkpoint, layout);
      return { layerId, rows, recordBytes: encoding.recordBytes, moduleBytes };
    }),
  };
}

/** Every placement of the tables, the fastest first. */
export function placements(sizes: TableSizes, layout: RowLayout, machines: Machines): Placement[] {
  const { tp, dp, hosts, batchTokens, split } = machines;
  const ranks = tp * dp;
  if (!Number.isSafeInteger(hosts) || hosts < 1 || ranks % hosts !== 0) {
    throw new EngramError(
      "usage",
      `Cannot plan: ${ranks} ranks do not spread evenly over ${hosts} hosts`,
      { where: "--hosts" },
    );
  }
  const shards = rankBytes(sizes, layout, { tp, dp, split });
  const copies = rankBytes(sizes, layout, { tp, dp: 1, split });
  const moduleBytes = total(sizes.layers.map((layer) => layer.moduleBytes));
  const staging = batchTokens *
    total(sizes.layers.map(({ recordBytes }) => localRows(layout, ranks) * recordBytes));
  const perHost = ranks / hosts;
  const onHost = (bytes: readonly number[]) =>
    Math.max(
      ...Array.from({ length: hosts }, (_, host) =>
        total(bytes.slice(host * perHost, (host + 1) * perHost))),
    );
  const all = Array.from({ length: ranks }, () => moduleBytes);
  const passing = all.map((bytes) => bytes + staging);
  const none = all.map(() => 0);
  const ofCopies = all.map((_, rank) => copies[Math.floor(rank / dp)]);
  const place = (
    name: string,
    about: string,
    gpu: readonly number[],
    host: readonly number[],
    shared = 0,
    disk = 0,
  ): Placement => {
    const bytes = {
      gpu: Math.max(...gpu),
      hostPrivate: onHost(host),
      hostShared: shared,
      disk,
    };
    const lacks = ([
      ["gpu", bytes.gpu, machines.gpuMemory],
      ["shm", bytes.hostShared, machines.shm],
      ["ram", bytes.hostPrivate + bytes.hostShared, machines.ram],
    ] as const).filter(([, wanted, found]) => wanted > found)
      .map(([of, wanted, found]) => ({ of, wanted, found }));
    const cacheBytes = disk === 0 ? 0 : Math.max(0, machines.ram - bytes.hostPrivate);
    return {
      name,
      about,
      bytes,
      ranks: gpu.map((onGpu, rank) => ({ gpu: onGpu, host: host[rank] })),
      fits: lacks.length === 0,
      lacks,
      cacheBytes,
    };
  };
  const sum = (a: readonly number[], b: readonly number[]) => a.map((bytes, i) => bytes + b[i]);
  const buffer = none.map(() => staging);
  return [
    ...(dp > 1
      ? [place(
        "gpu, a copy a group",
        `each of the ${dp} groups has all rows on its own ${tp} GPUs`,
        sum(all, ofCopies),
        none,
      )]
      : []),
    place("gpu", "each rank's rows on its own GPU", sum(all, shards), none),
    place(
      "host shared",
      "one copy a host in shared memory, for all its ranks",
      passing,
      buffer,
      onHost(shards),
    ),
    ...(dp > 1
      ? [place(
        "host private, a copy a group",
        `each of the ${dp} groups has all rows in its ranks' own host memory`,
        passing,
        sum(buffer, ofCopies),
      )]
      : []),
    place(
      "host private",
      "each rank's rows in its own host memory",
      passing,
      sum(buffer, shards),
    ),
    place(
      "disk",
      "packed rows on each host's disk, what memory is left caching them",
      passing,
      buffer,
      0,
      onHost(shards),
    ),
  ];
}

function rankBytes(
  { layers }: TableSizes,
  layout: RowLayout,
  split: { tp: number; dp: number; split: Split },
): number[] {
  const spans = layout.layers.map((layer) => rankSpans(layer, split));
  return Array.from(
    { length: split.tp * split.dp },
    (_, rank) => total(layers.map(({ recordBytes }, i) => spans[i][rank].rows * recordBytes)),
  );
}

/** Rows a rank looks up of a token; split by rows they are as many on average. */
function localRows({ columns }: RowLayout, ranks: number): number {
  return Math.ceil(columns / ranks);
}

function storedModule(layer: EngramLayer | undefined): number | null {
  if (!layer?.wkv || !layer.qWeight || !layer.kWeight) return null;
  const { wkv: { weight, scale }, qWeight, kWeight } = layer;
  return total([weight, scale, qWeight, kWeight].map((tensor) => tensor?.byteLength ?? 0));
}

/** fp8 projection, a scale byte for each tile, two bf16 gate weights. */
function releasedModule({ config }: Checkpoint, { columns }: RowLayout): number {
  const { hcMult, hiddenSize, headDim, weightBlockSize: [tileRows, tileColumns] } = config;
  const [outputs, inputs] = [(hcMult + 1) * hiddenSize, columns * headDim];
  const tiles = Math.ceil(outputs / tileRows) * Math.ceil(inputs / tileColumns);
  return outputs * inputs + tiles + 2 * 2 * hcMult * hiddenSize;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}
