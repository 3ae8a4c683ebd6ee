#!/usr/bin/env bash
# Takes the README's pictures from the demo, with bin/footnote and Chromium.
set -euo pipefail
cd "$(dirname "$0")/../web/test"
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

stamp=node_modules/.installed
if [ ! -e "$stamp" ] || [ package-lock.json -nt "$stamp" ]; then
  npm ci --no-progress --loglevel=error
  touch "$stamp"
fi
exec node pictures.js
