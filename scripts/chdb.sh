#!/usr/bin/env bash
# Tests ClickHouse's SQL on the engine itself, chdb, which this installs into the user's cache: 550 MB.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/goflags.sh
folder=${XDG_CACHE_HOME:-$HOME/.cache}/footnote/chdb
if [ ! -d "$folder/node_modules/chdb" ]; then
  mkdir -p "$folder"
  npm install --prefix "$folder" --no-audit --no-fund --ignore-scripts chdb@3.4.0
fi
FOOTNOTE_CHDB=$folder "${GO:-go}" test -count=1 -run ChDB -v ./source/clickhouse
