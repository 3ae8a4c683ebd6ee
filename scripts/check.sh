#!/usr/bin/env bash
# Runs the tests that need no other process, database or browser, with Go's cache of
# results. Quick enough to run before every commit; make test runs everything.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

# Tests that start Postgres, Redis or a sandbox depend on one of these packages.
started='/internal/(pgtest|redistest|sandbox)$'
# shellcheck disable=SC2016 # the template's variables
template='{{with .ForTest}}{{$tested := .}}{{range $.Deps}}{{$tested}} {{.}}{{"\n"}}{{end}}{{end}}'
mapfile -t starting < <(go list -test -f "$template" ./... | grep -E "$started" | cut -d' ' -f1 | sort -u)
heavy='/footnote/(cmd|test|examples)(/|$)|/(store|market)/sqlite$'
heavy+="|/($(scripts/engines.sh | paste -sd '|' -))\$"
heavy+='|/model/offline/eval|/internal/(sandbox|pgtest|redistest)$'
mapfile -t packages < <(go list ./... | grep -vE "$heavy" | grep -vxF -f <(printf '%s\n' "${starting[@]}"))
((${#packages[@]} > 30)) # a failed go list leaves none
. scripts/goflags.sh
go test "${packages[@]}" | grep --line-buffered -v 'no test files'
