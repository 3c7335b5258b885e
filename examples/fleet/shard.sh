#!/bin/sh
# Makes one rank's shard where it is used, reading only that rank's rows.
#
#   CHECKPOINT  a folder, or https://… or hf://organization/model
#   RANKS       tensor-parallel ranks
#   SHARDS      folder for the shard: local to the machine, or shared
#
# Running it again checks the shard that is there and does nothing; a killed run leaves none.
set -eu
. "$(dirname "$0")/rank.sh"

exec $engram shard "${CHECKPOINT:?}" --tp "${RANKS:?}" --rank "$rank" --out "${SHARDS:?}"
