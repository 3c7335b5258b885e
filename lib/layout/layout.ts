/** Where one layer's rows lie. A column is (n-gram size, head), n-gram major. */
export interface LayerRowLayout {
  /** The decoder layer's id. */
  readonly layerId: number;
  /** Buckets of each column: `primes[n - 2][head]`. */
  readonly primes: readonly (readonly number[])[];
  /** First row of each column, n-gram major; length `columns`. */
  readonly offsets: readonly number[];
  /** Rows of the layer's table: the sum of its primes. */
  readonly rows: number;
}

/** Where the rows of all Engram layers of a model lie: enough to split tables, not to hash. */
export interface RowLayout {
  /** Longest n-gram hashed. */
  readonly maxNgramSize: number;
  /** Heads for each n-gram size. */
  readonly nHeads: number;
  /** Hash columns of a layer: (maxNgramSize - 1) * nHeads. */
  readonly columns: number;
  /** The layers, in the order of the config. */
  readonly layers: readonly LayerRowLayout[];
}

/** One layer's rows and how its tokens are hashed to them. */
export interface LayerLayout extends LayerRowLayout {
  /** Odd int64 multipliers, one for each lookback, length `maxNgramSize`. */
  readonly multipliers: readonly bigint[];
}

/** The layout of all Engram layers of a model. */
export interface Layout extends RowLayout {
  /** Size of the compressed vocabulary the multipliers derive from. */
  readonly compressedVocabSize: number;
  /** The layers, in the order of the config. */
  readonly layers: readonly LayerLayout[];
}
