#!/usr/bin/env bash
# Checks the web app: types, lint, unit tests, then the built program in a browser. With
# "long", runs only the slow browser tests that rarely fail.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

if [ "${1:-}" != long ]; then
  scripts/ui.sh all
  cd web/ui
  echo "the web app: types, lint, unit tests"
  declare -A checks
  for check in check lint test; do
    npm run --silent "$check" &
    checks[$check]=$!
  done
  for check in "${!checks[@]}"; do
    wait "${checks[$check]}" || { echo "npm run $check failed in web/ui; see above" >&2; exit 1; }
  done
  cd ../..
fi

cd web/test
stamp=node_modules/.installed
if [ ! -e "$stamp" ] || [ package-lock.json -nt "$stamp" ]; then
  npm ci --no-progress --loglevel=error
  touch "$stamp"
fi
echo "the web app: in a browser"
npm run --silent "test${1:+-$1}"
