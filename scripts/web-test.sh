#!/usr/bin/env bash
# Checks the web app: types, lint, unit tests, then the built program in a browser.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

scripts/ui.sh all
cd web/ui
echo "the web app: types, lint, unit tests"
npm run --silent check
npm run --silent lint
npm run --silent test
cd ../test
stamp=node_modules/.installed
if [ ! -e "$stamp" ] || [ package-lock.json -nt "$stamp" ]; then
  npm ci --no-progress --loglevel=error
  touch "$stamp"
fi
echo "the web app: in a browser"
npm run --silent test
