import { EngramError } from "../errors.ts";
import { BufferLease } from "./buffer_lease.ts";
import { BufferPool } from "./buffer_pool.ts";
import type { BufferRange, Dispatch, Kernel } from "./kernel.ts";

/** Uniform values of a dispatch start at multiples of this many bytes, a multiple on every device. */
const UNIFORM_STEP = 256;

/** A result is made in pieces of about this many bytes a buffer: small enough for most devices. */
const PIECE_BYTES = 2 ** 26;

/** What a submit is to copy back: bytes from the start of `buffer`. */
export interface Download {
  /** A storage buffer with COPY_SRC. */
  readonly buffer: GPUBuffer;
  /** Bytes. */
  readonly size: number;
  /** Where they go; a new array unless given. */
  readonly into?: Uint8Array;
}

/** Two places in a query set that a submit writes the GPU's clock to, before and after each dispatch. */
export interface Timing {
  /** Timestamps, two for each dispatch. */
  readonly querySet: GPUQuerySet;
}

/** Dispatches made ready to run. */
export interface Plan {
  /** The kernels' names, for messages. */
  readonly name: string;
  /** The dispatches, in order. */
  readonly steps: readonly Step[];
  /** Gives its uniforms to other plans; it must not be run any more. */
  release(): void;
}

/** One dispatch of a plan. */
export interface Step {
  /** What runs. */
  readonly pipeline: GPUComputePipeline;
  /** On what. */
  readonly bindGroup: GPUBindGroup;
  /** Workgroups. */
  readonly grid: readonly [x: number, y: number, z: number];
}

/** A WebGPU device with what kernels need around it: pipelines, buffers and checked submits. */
export class GpuDevice {
  /** The device itself. */
  readonly device: GPUDevice;
  /** The adapter's name, for people. */
  readonly name: string;
  /** Whether it is a processor pretending to be a GPU. */
  readonly software: boolean;
  /** Whether dispatches can be timed. */
  readonly timestamps: boolean;
  /** Bytes of a buffer that results are made in, piece after piece. */
  readonly pieceBytes: number;
  readonly #pipelines = new Map<string, GPUComputePipeline>();
  readonly #staging = new BufferPool();
  readonly #uniforms = new BufferPool();
  readonly #storage: BufferPool;
  #lost: string | undefined;

  /** Takes over `device`; `name` is its adapter's, and whether that is a software one. */
  constructor(device: GPUDevice, name: string, software: boolean, pieceBytes = PIECE_BYTES) {
    this.device = device;
    this.name = name;
    this.software = software;
    this.timestamps = device.features.has("timestamp-query");
    const most = Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize);
    this.pieceBytes = Math.min(pieceBytes, most);
    this.#storage = new BufferPool(most);
    device.lost.then((info) => {
      if (info.reason !== "destroyed") this.#lost = info.message || "no reason given";
    });
  }

  /** The device's limits. */
  get limits(): GPUSupportedLimits {
    return this.device.limits;
  }

  /**
   * A storage buffer of at least `size` bytes that can be copied from and to.
   *
   * @throws an {@linkcode EngramError} of kind `unavailable` when the device has no room for it.
   */
  async buffer(size: number, label: string): Promise<GPUBuffer> {
    return await this.#checked(
      `allocate ${size} bytes for ${label}`,
      () =>
        this.device.createBuffer({
          label,
          size: Math.max(16, Math.ceil(size / 16) * 16),
          usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
        }),
    );
  }

  /** Storage buffers for a while, out of those that were used before where there are any. */
  lease(): BufferLease {
    return new BufferLease(this, this.#storage);
  }

  /** A storage buffer that holds `data`, padded with zeros to whole 16 bytes. */
  async upload(data: ArrayBufferView, label: string): Promise<GPUBuffer> {
    const buffer = await this.buffer(data.byteLength, label);
    this.write(buffer, 0, data);
    return buffer;
  }

  /** Writes `data` to `buffer` from byte `offset` (a multiple of 4) on. */
  write(buffer: GPUBuffer, offset: number, data: ArrayBufferView): void {
    const whole = data.byteLength - (data.byteLength % 4);
    const bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
    if (whole > 0) this.device.queue.writeBuffer(buffer, offset, bytes, 0, whole);
    if (whole < data.byteLength) {
      const tail = new Uint8Array(4);
      tail.set(bytes.subarray(whole));
      this.device.queue.writeBuffer(buffer, offset + whole, tail);
    }
  }

  /** The pipeline of `kernel`, compiled once for each source and set of constants. */
  async pipeline(kernel: Kernel): Promise<GPUComputePipeline> {
    const key = kernel.source + JSON.stringify(kernel.constants ?? {});
    const known = this.#pipelines.get(key);
    if (known) return known;
    const made = await this.#checked(
      `compile the kernel ${kernel.name}`,
      () =>
        this.device.createComputePipeline({
          label: kernel.name,
          layout: "auto",
          compute: {
            module: this.device.createShaderModule({ label: kernel.name, code: kernel.source }),
            entryPoint: "main",
            ...(kernel.constants ? { constants: kernel.constants } : {}),
          },
        }),
    );
    this.#pipelines.set(key, made);
    return made;
  }

  /**
   * Runs `dispatches` in order and gives back the downloads' bytes, in order. The device is free to
   * run ahead: submits made before the last one is awaited overlap with it.
   *
   * @throws an {@linkcode EngramError} of kind `unavailable` when the device refuses or is lost.
   */
  async submit(
    dispatches: readonly Dispatch[],
    downloads: readonly Download[] = [],
    timing?: Timing,
  ): Promise<Uint8Array[]> {
    const plan = await this.prepare(dispatches);
    const results = this.run(plan, downloads, timing);
    plan.release();
    return await results;
  }

  /** Readies `dispatches` to be run many times: what remains for each run is little. */
  async prepare(dispatches: readonly Dispatch[]): Promise<Plan> {
    const name = [...new Set(dispatches.map((d) => d.kernel.name))].join(", ") || "a copy";
    const pipelines: GPUComputePipeline[] = [];
    for (const dispatch of dispatches) pipelines.push(await this.pipeline(dispatch.kernel));
    if (dispatches.length === 0) return { name, steps: [], release() {} };
    const uniforms = await this.#takeUniforms(dispatches.length * UNIFORM_STEP);
    const steps = await this.#checked(`bind ${name}`, () => {
      const values = new Uint32Array(dispatches.length * UNIFORM_STEP / 4);
      dispatches.forEach((d, i) => values.set(d.uniforms, i * UNIFORM_STEP / 4));
      this.device.queue.writeBuffer(uniforms, 0, values);
      return dispatches.map(({ buffers, grid }, i) => ({
        pipeline: pipelines[i],
        grid,
        bindGroup: this.#bind(pipelines[i], [
          { buffer: uniforms, offset: i * UNIFORM_STEP, size: UNIFORM_STEP },
          ...buffers.map(asBinding),
        ]),
      }));
    });
    // The queue keeps order, so a later plan may rewrite the uniforms as soon as the last run is submitted.
    return { name, steps, release: () => this.#uniforms.give(uniforms) };
  }

  /** Runs a prepared plan; see {@linkcode GpuDevice.submit}. */
  async run(
    plan: Plan,
    downloads: readonly Download[] = [],
    timing?: Timing,
  ): Promise<Uint8Array[]> {
    const staging = downloads.map(({ size }) => this.#takeStaging(size));
    await this.#checked(`run ${plan.name}`, () => {
      const encoder = this.device.createCommandEncoder();
      encode(encoder, plan, timing);
      downloads.forEach(({ buffer, size }, i) => {
        if (size > 0) encoder.copyBufferToBuffer(buffer, 0, staging[i], 0, Math.ceil(size / 4) * 4);
      });
      this.device.queue.submit([encoder.finish()]);
    });
    return await Promise.all(downloads.map((download, i) => this.#read(staging[i], download)));
  }

  /** Waits until everything submitted, and everything written, is done. */
  async finish(): Promise<void> {
    // What is written waits, and takes host memory, until something is submitted.
    this.device.queue.submit([]);
    await this.device.queue.onSubmittedWorkDone();
    this.#checkLost();
  }

  /** Frees the device. */
  close(): void {
    this.device.destroy();
  }

  #bind(pipeline: GPUComputePipeline, resources: readonly GPUBindingResource[]): GPUBindGroup {
    return this.device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: resources.map((resource, binding) => ({ binding, resource })),
    });
  }

  async #read(
    staging: GPUBuffer,
    { size, into = new Uint8Array(size) }: Download,
  ): Promise<Uint8Array> {
    try {
      await staging.mapAsync(GPUMapMode.READ);
    } catch (cause) {
      this.#checkLost();
      throw new EngramError("unavailable", `Cannot read ${size} bytes back from the GPU`, {
        cause,
      });
    }
    into.set(new Uint8Array(staging.getMappedRange(), 0, size));
    staging.unmap();
    this.#staging.give(staging);
    return into;
  }

  /** A failed allocation shows when the buffer is used. */
  #takeStaging(size: number): GPUBuffer {
    return this.#staging.take(size) ?? this.device.createBuffer({
      label: "download",
      size: this.#staging.room(size),
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
  }

  async #takeUniforms(size: number): Promise<GPUBuffer> {
    return this.#uniforms.take(size) ??
      await this.#checked("allocate uniforms", () =>
        this.device.createBuffer({
          label: "uniforms",
          size: this.#uniforms.room(size),
          usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
        }));
  }

  /** Runs `act` inside error scopes: WebGPU reports most failures there instead of throwing. */
  async #checked<T>(doing: string, act: () => T): Promise<T> {
    this.#checkLost();
    const scopes = ["validation", "out-of-memory", "internal"] as const;
    for (const scope of scopes) this.device.pushErrorScope(scope);
    let result: T | undefined;
    let thrown: unknown;
    try {
      result = act();
    } catch (error) {
      thrown = error;
    }
    const found = await Promise.all(scopes.map(() => this.device.popErrorScope()));
    this.#checkLost();
    const refused = found.find((scope) => scope !== null);
    if (!thrown && !refused) return result!;
    // What a scope catches is no Error.
    const cause = (thrown ?? new Error(refused!.message)) as Error;
    const outOfMemory = found.some((scope) => scope instanceof GPUOutOfMemoryError);
    throw new EngramError(
      "unavailable",
      `Cannot ${doing} on ${this.name}: ${
        outOfMemory ? "the GPU is out of memory" : firstLine(cause.message)
      }`,
      { cause, hint: "Run the same command with `--device cpu`" },
    );
  }

  #checkLost(): void {
    if (this.#lost === undefined) return;
    throw new EngramError(
      "unavailable",
      `Cannot go on: the GPU ${this.name} was lost (${this.#lost})`,
      {
        hint: "Run the same command again, or with `--device cpu`",
      },
    );
  }
}

function encode(encoder: GPUCommandEncoder, { steps }: Plan, timing?: Timing): void {
  if (steps.length === 0) return;
  // A pass for each dispatch only where each is timed: passes cost time.
  let pass = timing ? undefined : encoder.beginComputePass();
  steps.forEach(({ pipeline, bindGroup, grid }, i) => {
    if (timing) {
      pass = encoder.beginComputePass({
        timestampWrites: {
          querySet: timing.querySet,
          beginningOfPassWriteIndex: 2 * i,
          endOfPassWriteIndex: 2 * i + 1,
        },
      });
    }
    pass!.setPipeline(pipeline);
    pass!.setBindGroup(0, bindGroup);
    pass!.dispatchWorkgroups(...grid);
    if (timing) pass!.end();
  });
  if (!timing) pass!.end();
}

function asBinding(bound: GPUBuffer | BufferRange): GPUBindingResource {
  return "buffer" in bound ? bound as GPUBufferBinding : { buffer: bound };
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0];
}
