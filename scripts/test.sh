#!/usr/bin/env bash
# Runs all tests once, with the race detector, then without cgo, then the web app's.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

echo "go test -race ./..."
CGO_ENABLED=1 go test -race -timeout 25m ./...
echo "without cgo: go vet, and the tests of what differs"
CGO_ENABLED=0 go vet ./...
CGO_ENABLED=0 go test ./source/duckdb ./cmd/footnote
make --no-print-directory web-test
