/** Texts of the conformance vectors: each has something that token maps or hashes have got wrong. */
export const VECTOR_TEXTS: readonly (readonly [says: string, text: string])[] = [
  ["plain words", "The quick brown fox jumps over the lazy dog."],
  [
    "the same in capitals: many compressed ids are equal",
    "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG.",
  ],
  ["one token or few", "a"],
  ["no token: an empty request", ""],
  [
    "marks, composed and apart",
    "Ångström naïve cafe\u0301 e\u0301le\u0300ve \u1e9b\u0323 Tiê\u0301ng Viê\u0323t",
  ],
  ["case beyond ASCII, with final sigma and dotless i", "ΟΔΥΣΣΕΥΣ Straße İstanbul ıI ǅ"],
  ["runs of white space, one space, line ends", "a  b\t\tc\r\n\r\n   d \n e\u00a0f\u0085g\u3000h "],
  ["other scripts and their widths", "深度学习 ﾃｽﾄ ＦＵＬＬ Привет мир مرحبا नमस्ते 한국어 ไทย"],
  ["symbols whose bytes are split over tokens", "👩‍👩‍👧‍👦 🏳️‍🌈 𝔘𝔫𝔦 ﬁ ½ ① ™"],
  ["code", "for (let i = 0; i < 10; i++) {\n    console.log(`${i}\\n`);\n}\n"],
  ["numbers", "3.14159265358979 1,000,000 0xdeadbeef 2026-12-01T00:00:00Z"],
  [
    "repetition: n-grams that come again",
    "no no no no no no no no no no no no no no no no no no no no",
  ],
];
