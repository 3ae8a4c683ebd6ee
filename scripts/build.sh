#!/usr/bin/env bash
# Builds the program into $1: the web app and the Go packages side by side, then all
# together. $2 is the version. Without Node.js the program has no web app.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$1 version=$2
go=${GO:-go}

ui=
if scripts/node.sh; then
  scripts/ui.sh &
  ui=$!
  trap 'kill "$ui" 2>/dev/null || true' EXIT
else
  echo "No Node.js 20.19 or newer: building without the web app. Everything else is included."
fi
. scripts/goflags.sh
# Packages that embed the web app, directly or indirectly, are built after it.
format='{{if not (or .Standard (eq .Name "main"))}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{end}}'
mapfile -t packages < <("$go" list -deps -f "$format" ./cmd/footnote |
  awk '$1 && !/(^| )github.com\/footnotehq\/footnote\/web( |$)/ { print $1 }')
"$go" build "${packages[@]}"
if [ -n "$ui" ] && ! wait "$ui"; then
  echo "The web app could not be built; see above. Building without it." >&2
fi
trap - EXIT
mkdir -p "$(dirname "$bin")"
# DuckDB's symbols are not for other programs: hidden, they take no space, and what is unused is dropped.
# Functions begin at multiples of 16 bytes instead of 32, which saves half a megabyte.
flags="-s -w -funcalign=16 -X main.version=$version"
if [ "$("$go" env GOOS)" = linux ]; then flags+=" -extldflags '-Wl,--exclude-libs,ALL -Wl,--gc-sections'"; fi
"$go" build -ldflags "$flags" -o "$bin" ./cmd/footnote
