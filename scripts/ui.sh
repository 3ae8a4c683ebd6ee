#!/usr/bin/env bash
# Builds the web app into web/dist, if its sources are newer. With "all", also installs what
# only its checks need.
set -euo pipefail
cd "$(dirname "$0")/../web/ui"

omit=--omit=dev
kind=build
if [ "${1:-}" = all ]; then
  omit=
  kind=all
fi
# A complete installation serves both.
stamp=node_modules/.installed
if [ ! -e "$stamp" ] || [ package-lock.json -nt "$stamp" ] || { [ "$kind" = all ] && [ "$(cat "$stamp")" != all ]; }; then
  npm ci --no-progress --loglevel=error $omit
  echo "$kind" >"$stamp"
fi
built=../dist/index.html.br
if [ ! -e "$built" ] || [ -n "$(find . ../../internal/currency -path ./node_modules -prune -o -type f -newer "$built" -print -quit)" ]; then
  node_modules/.bin/vite build --logLevel warn
fi
