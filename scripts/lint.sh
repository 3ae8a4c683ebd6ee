#!/usr/bin/env bash
# Checks the format, vets, and looks for mistakes, complex functions and unused modules.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/goflags.sh
go=${GO:-go}

echo "gofmt, go vet, staticcheck, complexity, go mod tidy"
mapfile -t files < <(git ls-files -co --exclude-standard '*.go')
out=$(gofmt -l "${files[@]}")
test -z "$out" || { echo "not formatted: $out"; exit 1; }
"$go" vet ./...
"$go" tool -modfile=tools.mod staticcheck ./...
"$go" tool -modfile=tools.mod gocyclo -over 20 \
  -ignore "_test.go|node_modules|^cite/|^model/offline/|^market/planner/" .
"$go" mod tidy -diff
