/** The pattern of a ByteLevel pre-tokenizer that splits by itself, in Oniguruma's syntax. */
export const GPT2_PATTERN: string = String
  .raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;
