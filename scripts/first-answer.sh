#!/usr/bin/env bash
# Measures what a newcomer waits for: from a fresh clone to the first answer, and
# from a later start to ready. The build cache is emptied first when COLD=1.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
pid=
cleanup() {
  [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
  [ -z "$pid" ] || wait "$pid" 2>/dev/null || true
  chmod -R u+w "$work" && rm -rf "$work"
}
trap cleanup EXIT
now() { date +%s%N; }
seconds() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f s", (b - a) / 1e9 }'; }

if [ "${COLD:-}" = 1 ]; then export GOCACHE="$work/cache"; fi
start=$(now)
git clone -q . "$work/footnote"
cd "$work/footnote"
export FOOTNOTE_LISTEN=127.0.0.1:0

serve() { # starts the demo and sets $address
  "$@" >out.log 2>err.log &
  pid=$!
  for _ in $(seq 1 6000); do
    address=$(sed -n 's/.*"ready":true,"listen":"\([^"]*\)".*/\1/p' out.log | head -n1)
    [ -z "$address" ] || return 0
    kill -0 "$pid" 2>/dev/null || { cat out.log err.log >&2; return 1; }
    sleep 0.02
  done
  return 1
}
ask() {
  curl -fsS "http://$address/v1/chat/completions" -H 'content-type: application/json' \
    -d '{"model":"analyst","messages":[{"role":"user","content":"How many orders are there?"}]}'
}
serve make demo
answer=$(ask)
echo "from clone to first answer${COLD:+ (empty build cache)}: $(seconds "$start" "$(now)")"
printf '%s\n' "$answer" | cut -c1-300
kill "$pid"; wait "$pid" 2>/dev/null || true; pid=
start=$(now)
serve bin/footnote demo
echo "from a later start to ready: $(seconds "$start" "$(now)")"
