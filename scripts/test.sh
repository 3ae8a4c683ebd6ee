#!/usr/bin/env bash
# Runs all tests once: ours with the race detector, then the time a newcomer waits.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh test
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)
if command -v gcc >/dev/null; then
  CGO_ENABLED=1 go test -race -timeout 20m ./...
else
  echo "no C compiler: without the race detector, and without DuckDB"
  go test -timeout 20m ./...
fi
CGO_ENABLED=0 go build -o /dev/null ./...
scripts/first-answer.sh
