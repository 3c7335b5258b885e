import { isSyncSource } from "../bytes/byte_source.ts";
import { OutputFile } from "../bytes/output_file.ts";
import { EngramError } from "../errors.ts";
import { type FilePlan, type Metadata, planFile, type TensorSpec } from "./plan_file.ts";
import { quote } from "./quote.ts";
import { streamTensor } from "./read_tensor.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Bytes copied at a time: they stay in the processor's cache between reading and writing, and the
 * system caches the new file in pieces as large, which makes it as fast as a copy inside the kernel.
 */
const COPY_BYTES = 2 ** 19;

/** The same from a network, where each request costs a round trip. */
const REMOTE_COPY_BYTES = 2 ** 23;

/** How a {@linkcode SafetensorsWriter} is made. */
export interface SafetensorsWriterOptions {
  /** The file's `__metadata__`. */
  metadata?: Metadata;
  /** Replace a file that exists. */
  force?: boolean;
}

/** Which bytes of a tensor {@linkcode SafetensorsWriter.appendFrom} copies, and how. */
export interface CopyOptions {
  /** First byte, counted from the tensor's start. */
  readonly begin: number;
  /** Byte after the last one. */
  readonly end: number;
  /** Ends the copying with an `EngramError` of kind `interrupted`. */
  readonly signal?: AbortSignal;
  /** Called with the number of bytes after each piece. */
  readonly onBytes?: (bytes: number) => void;
}

/**
 * Writes a safetensors file whose tensors are known before their bytes: tensors in any order, each
 * in pieces, in constant memory. Nothing appears under the file's name until {@linkcode SafetensorsWriter.commit}.
 *
 * @example
 * ```ts ignore
 * using writer = SafetensorsWriter.create("out.safetensors", [
 *   { name: "a", dtype: "U8", shape: [2] },
 * ]);
 * writer.append("a", new Uint8Array([1, 2]));
 * writer.commit();
 * ```
 */
export class SafetensorsWriter implements Disposable {
  readonly #plan: FilePlan;
  readonly #file: OutputFile;
  /** Bytes given so far, by tensor. */
  readonly #given = new Map<string, number>();

  private constructor(plan: FilePlan, file: OutputFile) {
    this.#plan = plan;
    this.#file = file;
  }

  /** Plans the file, checks that it can be written and fits the disk, and writes its header. */
  static create(
    path: string,
    tensors: readonly TensorSpec[],
    options: SafetensorsWriterOptions = {},
  ): SafetensorsWriter {
    const plan = planFile(tensors, options.metadata);
    const file = OutputFile.create(path, { force: options.force ?? false, size: plan.size });
    const writer = new SafetensorsWriter(plan, file);
    try {
      file.write(plan.header);
    } catch (error) {
      file.abort();
      throw error;
    }
    return writer;
  }

  /** Bytes the whole file will have. */
  get size(): number {
    return this.#plan.size;
  }

  /** The tensors' names, in the order of the file. */
  get names(): string[] {
    return [...this.#plan.spans.keys()];
  }

  /** Writes the next bytes of tensor `name`, after those given so far. */
  append(name: string, bytes: Uint8Array): void {
    const given = this.#given.get(name) ?? 0;
    const span = this.#span(name, given, bytes.length);
    this.#file.writeAt(bytes, span.offset + given);
    this.#given.set(name, given + bytes.length);
  }

  /** Writes the next bytes of tensor `name` from bytes [begin, end) of another file's tensor. */
  async appendFrom(name: string, tensor: Tensor, options: CopyOptions): Promise<void> {
    const { onBytes, ...range } = options;
    const given = this.#given.get(name) ?? 0;
    const target = this.#span(name, given, range.end - range.begin).offset + given;
    const chunkBytes = isSyncSource(tensor.source) ? COPY_BYTES : REMOTE_COPY_BYTES;
    for await (const chunk of streamTensor(tensor, { ...range, chunkBytes, target })) {
      this.append(name, chunk);
      onBytes?.(chunk.length);
    }
  }

  /** Where tensor `name` goes; `length` more bytes after `given` have to fit. */
  #span(name: string, given: number, length: number): { offset: number; byteLength: number } {
    const span = this.#plan.spans.get(name);
    if (!span) throw new EngramError("usage", `Cannot write tensor ${quote(name)}: not planned`);
    if (given + length <= span.byteLength) return span;
    throw new EngramError(
      "usage",
      `Cannot write tensor ${quote(name)}: found ${given + length} bytes of data, ` +
        `wanted ${span.byteLength}`,
      { where: this.#file.path },
    );
  }

  /** Makes the file durable beside other work: see {@linkcode OutputFile.flush}. */
  async flush(): Promise<void> {
    await this.#file.flush();
  }

  /** Finishes the file and gives it its name; a tensor with bytes missing is an error. */
  commit(): void {
    for (const [name, { byteLength }] of this.#plan.spans) {
      const given = this.#given.get(name) ?? 0;
      if (given === byteLength) continue;
      this.abort();
      throw new EngramError(
        "usage",
        `Cannot write tensor ${quote(name)}: found ${given} bytes of data, wanted ${byteLength}`,
        { where: this.#file.path },
      );
    }
    this.#file.commit();
  }

  /** Removes what was written; does nothing once the file is committed. */
  abort(): void {
    this.#file.abort();
  }

  /** Aborts, unless the file is committed. */
  [Symbol.dispose](): void {
    this.abort();
  }
}
