/** Type numbers of GGUF metadata values. */
const TYPES = {
  uint32: 4,
  int32: 5,
  float32: 6,
  string: 8,
  int64: 11,
} as const;

const ARRAY = 9;

/** One metadata value of a GGUF file; arrays hold values of one type. */
export type GgufValue =
  | {
    /** A value of 32 bits. */
    readonly type: "uint32" | "int32" | "float32";
    /** One, or an array of them. */
    readonly value: number | ArrayLike<number>;
  }
  | {
    /** An exact integer of 64 bits. */
    readonly type: "int64";
    /** One, or an array of them. */
    readonly value: bigint | readonly bigint[];
  }
  | {
    /** Text. */
    readonly type: "string";
    /** One; arrays of text are not needed. */
    readonly value: string;
  };

/** A GGUF file (version 3, little-endian) of metadata alone, without tensors. */
export function ggufFile(metadata: Readonly<Record<string, GgufValue>>): Uint8Array {
  const out = new Bytes();
  const entries = Object.entries(metadata);
  out.text("GGUF");
  out.uint32(3);
  out.int64(0n);
  out.int64(BigInt(entries.length));
  for (const [key, entry] of entries) {
    out.string(key);
    const { type, value } = entry;
    if (typeof value === "object") {
      out.uint32(ARRAY);
      out.uint32(TYPES[type]);
      out.int64(BigInt(value.length));
      for (let i = 0; i < value.length; i++) out.value(type, value[i]);
    } else {
      out.uint32(TYPES[type]);
      out.value(type, value);
    }
  }
  return out.take();
}

/** Bytes that grow as they are written. */
class Bytes {
  #view = new DataView(new ArrayBuffer(4096));
  #length = 0;

  value(type: GgufValue["type"], value: number | bigint | string): void {
    if (type === "string") this.string(value as string);
    else if (type === "int64") this.int64(value as bigint);
    else if (type === "float32") {
      this.#at(4, (view, at) => view.setFloat32(at, Number(value), true));
    } else this.uint32(Number(value));
  }

  /** Also writes int32: the bits are the same. */
  uint32(value: number): void {
    this.#at(4, (view, at) => view.setUint32(at, value, true));
  }

  int64(value: bigint): void {
    this.#at(8, (view, at) => view.setBigInt64(at, value, true));
  }

  string(text: string): void {
    this.int64(BigInt(new TextEncoder().encode(text).length));
    this.text(text);
  }

  text(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.#at(bytes.length, (view, at) => new Uint8Array(view.buffer).set(bytes, at));
  }

  take(): Uint8Array {
    return new Uint8Array(this.#view.buffer, 0, this.#length);
  }

  #at(bytes: number, write: (view: DataView, at: number) => void): void {
    const end = this.#length + bytes;
    if (end > this.#view.byteLength) {
      const grown = new Uint8Array(2 * end);
      grown.set(this.take());
      this.#view = new DataView(grown.buffer);
    }
    write(this.#view, this.#length);
    this.#length = end;
  }
}
