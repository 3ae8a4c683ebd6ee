#!/usr/bin/env bash
# Runs all tests once, with the race detector where it can find something, then what
# differs without cgo, then the web app's.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

# What computes, and starts no goroutine of its own, takes ten times as long under the
# race detector. The programs that use it are tested under it.
computes='^github.com/footnotehq/footnote/(cite|demo|market/importer|model/offline(/.*)?|source/duckdb/tidy)$'
# Hundreds of statements, one after the other: the same holds.
statements='^TestFunctionsOfTheDatabase$'
packages=$(go list ./...)
mapfile -t alone < <(grep -E "$computes" <<<"$packages")
mapfile -t others < <(grep -vE "$computes" <<<"$packages")
echo "go test -race: ${#others[@]} packages"
CGO_ENABLED=1 go test -race -count=1 -timeout 25m -skip "$statements" "${others[@]}"
echo "go test: ${#alone[@]} packages that only compute"
CGO_ENABLED=1 go test -count=1 -timeout 25m "${alone[@]}"
CGO_ENABLED=1 go test -count=1 -timeout 25m -run "$statements" ./source/postgres
echo "without cgo: go vet, and the tests of what differs"
CGO_ENABLED=0 go vet ./...
CGO_ENABLED=0 go test -count=1 ./source/duckdb ./internal/app ./cmd/footnote
make --no-print-directory web-test
