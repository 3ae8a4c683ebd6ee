#!/usr/bin/env bash
# Checks what the project needs, and installs on Debian what can be installed. It is
# quick when everything is there.
set -euo pipefail

want_go=1.26
if ! command -v go >/dev/null; then
  echo "Go $want_go or newer is needed: https://go.dev/doc/install" >&2
  exit 1
fi
have_go=$(go env GOVERSION | sed 's/^go//')
if [ "$(printf '%s\n%s\n' "$want_go" "$have_go" | sort -V | head -n1)" != "$want_go" ]; then
  echo "Go $want_go or newer is needed; this is $have_go" >&2
  exit 1
fi
if [ "${1:-}" != test ]; then
  exit 0
fi
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "Node.js with npm is needed for the client tests" >&2
  exit 1
fi
if ! command -v gcc >/dev/null && command -v apt-get >/dev/null; then
  run=; [ "$(id -u)" = 0 ] || run=sudo
  echo "installing a C compiler for DuckDB and the race detector"
  $run apt-get update -qq
  $run apt-get install -y -qq gcc libc6-dev g++ >/dev/null
fi
