#!/usr/bin/env bash
# Runs all tests once: concurrent packages with the race detector, beside them the rest and
# the build without DuckDB, then the web app. make test-long runs the slow tests that rarely
# fail.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

# Tests that start the program, the examples of docs/ and the browser share one build.
make --no-print-directory build
export TEST_PROGRAM="$PWD/bin/footnote"

# The race detector makes code up to ten times slower, so it is used only for packages that
# start goroutines, lock, or drive the engine of conversations. Exceptions: the offline
# planner, which only locks a cache, and the tests that start whole processes run without it;
# the packages of "partly" mostly wait for one database, file or command after the other, so
# only their tests of cancelling and sharing use it.
concurrent='(^|[^.[:alnum:]])go (func|[a-zA-Z_.]+\()|\.Go\(|\bsync\.(RW|Mu|Wa|Co)'
concurrent+='|\b(atomic|synctest|errgroup)\.|/footnote/(agent|httpapi|hub)"'
partly="/($(scripts/engines.sh | paste -sd '|' -)|market/importer|store/sqlite|tool/workspace)\$"
unwatched='/(internal/app|model/offline(/.*)?|test/(bench|docs|e2e|release))$' # internal/app: see with_race
longest='/(internal/app|store/postgres|test/e2e|tool/(search|workspace))$' # these start first
raced=() plain=() both=()
while read -r package folder; do
  list=plain
  if [[ $package =~ $partly ]]; then
    both+=("$package")
  elif [[ ! $package =~ $unwatched ]] && grep -qsE "$concurrent" "$folder"/*.go; then
    list=raced
  fi
  declare -n tests=$list
  if [[ $package =~ $longest ]]; then tests=("$package" "${tests[@]}"); else tests+=("$package"); fi
done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./...)

((${#raced[@]} > 30 && ${#plain[@]} > 30 && ${#both[@]} > 3)) # a failed go list leaves none

# The tests of cancelling and sharing: of each engine's suite, DuckDB's loader, the import of
# candles, the store of events, and workspaces.
level='^(Busy|Cancel|Killed)$'
shared="^Test(Contract|Source)\$/$level|^TestSource\$/^(Rollback|WAL)\$/$level|^Test(Reload|InterruptedLoad)\$"
shared+='|^Test(Killed|ImportWaitsForOtherLoad|Kill|OtherProcess|BalancesOfOneTransaction|OpenTwice|CloseWaits)$'
shared+='|^Test(KeysFromSecondProcess|LostConnection|DeleteLeavesNothing|ReaderDuringWrites|RecentMatchesFile)$'
shared+='|^Test(FileShrinks|FileShrinksAfterAbandonedWrite|Full|FullDiskIsReportedAfterTheContextHasEnded)$'
shared+='|^Test(Bash|RecordsOfCancelledCommands|PlacesAreReleasedFirst|RevertWhileBusy|BudgetIsNeverOverspent)$'
shared+='|^Test(RecordsMissingFromLogAreRetried|FoldersOfSeveralServers|WriteReadEdit|Remove)$'
# SQLite's C code, translated to Go, and the compiler of the Postgres parser's WebAssembly
# would take most of the race detector's time: the parser starts five times slower. They
# share memory with our code only through calls, so they run without it.
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
  echo "go test -race: ${#raced[@]} packages, and the cancelling and sharing of ${#both[@]} more"
  # The server's tests, without those that need DuckDB: with the race detector, these take ten times longer.
  go_test -p 2 "${race[@]}" -tags noduckdb,arrow_json_stdlib ./internal/app
  go_test -p 2 "${race[@]}" "${raced[@]}"
  go_test -p 2 "${race[@]}" -run "$shared" "${both[@]}"
}
without_race() {
  echo "go test: ${#plain[@]} packages"
  go_test -p 2 "${plain[@]}"
  # CGO_ENABLED=0 would compile every package once more; make static does. The tag leaves out the same files, and
  # listing shows whether a package needs cgo.
  echo "without DuckDB: the packages that differ"
  mapfile -t differ < <(git grep -lE '^//go:build .*cgo' -- '*.go' | xargs dirname | sort -u)
  go vet -tags noduckdb,arrow_json_stdlib "${differ[@]/#/./}"
  go_test -tags noduckdb,arrow_json_stdlib ./source/duckdb
  CGO_ENABLED=0 go list -deps ./cmd/footnote >/dev/null
}
trap 'trap - INT TERM; kill 0' INT TERM # Ctrl+C does not reach background jobs
jobs=() failed=0
with_race & jobs+=($!)
without_race & jobs+=($!)
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
((failed == 0))
echo "the build and the tests in Go took ${SECONDS} s"
make --no-print-directory web-test
