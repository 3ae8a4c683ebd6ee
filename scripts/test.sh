#!/usr/bin/env bash
# Runs all tests once: concurrent packages with the race detector, beside them the rest and
# the build without cgo, then the web app. make test-long runs the slow tests that rarely
# fail.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

# Tests that start the program, the examples of docs/ and the browser share one build.
make --no-print-directory build
export TEST_PROGRAM="$PWD/bin/footnote"

# The race detector makes code up to ten times slower, so it watches the packages that
# start goroutines, lock, or drive the engine of conversations. Three kinds run without it
# although they do: the database engines, whose hundreds of statements run one after the
# other in child processes (their tests of cancelling and sharing run with it); the
# offline planner, which locks a cache and computes the rest; and the tests that start
# whole processes.
concurrent='(^|[^.[:alnum:]])go (func|[a-zA-Z_.]+\()|\.Go\(|\bsync\.(RW|Mu|Wa|Co)'
concurrent+='|\b(atomic|synctest|errgroup)\.|/footnote/(agent|httpapi|hub)"'
engines="/($(scripts/engines.sh | paste -sd '|' -))\$"
unwatched='/(model/offline(/.*)?|test/(docs|e2e|release))$'
longest='/(internal/app|store/postgres|test/e2e|tool/(search|workspace))$' # these start first
raced=() plain=() engine=()
while read -r package folder; do
  list=plain
  if [[ $package =~ $engines ]]; then
    engine+=("$package")
  elif [[ ! $package =~ $unwatched ]] && grep -qsE "$concurrent" "$folder"/*.go; then
    list=raced
  fi
  declare -n tests=$list
  if [[ $package =~ $longest ]]; then tests=("$package" "${tests[@]}"); else tests+=("$package"); fi
done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./...)

((${#raced[@]} > 30 && ${#plain[@]} > 30 && ${#engine[@]} > 0)) # a failed go list leaves none

# The tests of cancellation and concurrency, from each engine's suite and DuckDB's loader.
level='^(Busy|Cancel|Killed)$'
shared="^Test(Contract|Source)\$/$level|^TestSource\$/^(Rollback|WAL)\$/$level|^Test(Reload|InterruptedLoad)\$"
# SQLite's C code, translated to Go, and the compiler of the Postgres parser's WebAssembly
# would take most of the race detector's time: the parser starts five times slower. They
# share memory with our code only through calls, so they are not watched.
race=(-race)
for package in modernc.org/sqlite/lib modernc.org/libc github.com/tetratelabs/wazero/...; do
  race+=("-gcflags=$package=-dwarf=false -race=false")
done
# Many tests wait for a process or a database, so four packages run at a time. Test programs
# without debug information link in two thirds of the time.
. scripts/goflags.sh
export CGO_ENABLED=1
go_test() { go test -count=1 -timeout 25m -vet=off -ldflags='-s -w' "$@"; }
with_race() {
  echo "go test -race: ${#raced[@]} packages, and the engines' cancelling and sharing"
  go_test -p 2 "${race[@]}" "${raced[@]}"
  go_test -p 2 "${race[@]}" -run "$shared" "${engine[@]}"
}
without_race() {
  echo "go test: ${#plain[@]} packages"
  go_test -p 2 "${plain[@]}"
  echo "without cgo: the packages that differ, and a server without DuckDB"
  mapfile -t differ < <(git grep -lE '^//go:build .*cgo' -- '*.go' | xargs dirname | sort -u)
  export CGO_ENABLED=0
  go vet "${differ[@]/#/./}"
  go_test ./source/duckdb
  go_test -run 'CSV|Filter|Generat|Search' ./internal/app
}
trap 'trap - INT TERM; kill 0' INT TERM # Ctrl+C does not reach background jobs
jobs=() failed=0
with_race & jobs+=($!)
without_race & jobs+=($!)
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
((failed == 0))
echo "the build and the tests in Go took ${SECONDS} s"
make --no-print-directory web-test
