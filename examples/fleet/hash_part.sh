#!/bin/sh
# Hashes one of PARTS parts of a corpus. The parts' hash_ids, one after another, are the whole's.
#
#   CHECKPOINT  a folder, a config.json, or https://… or hf://organization/model
#   TOKENIZER   the model's tokenizer.json
#   CORPUS      a text file or a folder of them; texts are dealt out whole
#   PARTS       how many parts
#   HASHES      folder for the results
set -eu
. "$(dirname "$0")/rank.sh"

exec $engram hash "${CHECKPOINT:?}" --text "${CORPUS:?}" --tokenizer "${TOKENIZER:?}" \
  --part "$rank/${PARTS:?}" --out "${HASHES:?}/part-$(printf %05d "$rank").safetensors" --force
