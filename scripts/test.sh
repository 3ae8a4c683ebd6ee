#!/usr/bin/env bash
# Runs all tests once: with the race detector where goroutines share memory, then the
# rest, then what differs without cgo, then the web app. make test-long runs what takes
# long and rarely finds anything.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

# Tests that start the program, the examples of docs/ and the browser share one build.
make --no-print-directory build
export TEST_PROGRAM="$PWD/bin/footnote"

# Three kinds of packages run without the race detector, which makes them up to ten times
# slower: those that only compute and start no goroutine; the database engines, whose
# hundreds of statements run one after the other in child processes (their tests of
# cancelling and sharing run with it); and the tests that start whole processes.
computes='/(cite|demo|market/importer|model/offline(/.*)?|source/duckdb/tidy)$'
engines='/source/(duckdb|postgres|sqlite)$'
processes='/test/(docs|e2e|release)$'
packages=$(go list ./...)
mapfile -t plain < <(grep -E "$computes|$engines|$processes" <<<"$packages")
mapfile -t raced < <(grep -vE "$computes|$engines|$processes" <<<"$packages")
mapfile -t engine < <(grep -E "$engines" <<<"$packages")

# SQLite's C code, translated to Go, would take most of the race detector's time. It
# shares no memory with ours but through calls, so it is not watched.
race=(-race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false)
# Many tests wait for a process or a database, so three packages run at a time.
go_test() { CGO_ENABLED=1 go test -count=1 -timeout 25m -vet=off -p 3 "$@" | grep --line-buffered -v 'no test files'; }
echo "go test -race: ${#raced[@]} packages, and the engines' cancelling and sharing"
go_test "${race[@]}" "${raced[@]}"
go_test "${race[@]}" -run '^(TestContract|TestSource)$/^(Busy|Cancel|Killed)$|^TestSource$/^(Rollback|WAL)$/^(Busy|Cancel|Killed)$|^Test(Reload|InterruptedLoad)$' "${engine[@]}"
echo "go test: ${#plain[@]} packages"
go_test "${plain[@]}"
echo "without cgo: go vet, and the tests of what differs"
CGO_ENABLED=0 go vet ./...
CGO_ENABLED=0 go test -count=1 -vet=off ./source/duckdb
CGO_ENABLED=0 go test -count=1 -vet=off -run 'CSV|Filter|Generat|Search' ./cmd/... ./internal/app
make --no-print-directory web-test
