#!/usr/bin/env bash
# Tests what needs no process, database or browser of its own, with Go's cache of
# results. Quick enough to run before every commit; make test runs everything.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

heavy='/footnote/(cmd|test|examples)(/|$)|/(store|market/open|(store|market)/(postgres|sqlite))$'
heavy+="|/($(scripts/engines.sh | paste -sd '|' -))\$"
heavy+='|/model/offline/eval|/internal/(sandbox|pgtest)$'
mapfile -t packages < <(go list ./... | grep -vE "$heavy")
go test "${packages[@]}" | grep --line-buffered -v 'no test files'
