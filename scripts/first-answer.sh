#!/usr/bin/env bash
# Measures how long a newcomer waits: from a fresh clone to the first answer, and from a
# later start to ready. With COLD=1 the build cache is empty; modules come from the module
# cache either way.
set -euo pipefail
cd "$(dirname "$0")/.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)

work=$(mktemp -d)
pid=
stop() {
  [ -n "$pid" ] || return 0
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  pid=
}
cleanup() {
  stop
  chmod -R u+w "$work"
  rm -rf "$work"
}
trap cleanup EXIT
now() { date +%s%N; }
seconds() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f s", (b - a) / 1e9 }'; }

# serve starts the demo and sets $address. It blocks on read, because polling would take CPU
# time from the build.
serve() {
  local line
  address=
  rm -f out
  mkfifo out
  "$@" >out 2>err.log &
  pid=$!
  exec 3<out
  while IFS= read -r -t 900 line <&3; do
    echo "$line" >>out.log
    if [[ $line =~ \"ready\":true,\"listen\":\"([^\"]*)\" ]]; then
      address=${BASH_REMATCH[1]}
      cat <&3 >>out.log &
      exec 3<&-
      return 0
    fi
  done
  cat out.log err.log >&2
  return 1
}

warm=
if [ "${COLD:-}" = 1 ]; then
  export GOCACHE="$work/cache"
else
  warm=", with what Go has built before"
fi
start=$(now)
git clone -q . "$work/footnote"
cd "$work/footnote"
export FOOTNOTE_LISTEN=127.0.0.1:0
serve make demo
answer=$(curl -fsS "http://$address/v1/chat/completions" -H 'content-type: application/json' \
  -d '{"model":"analyst","messages":[{"role":"user","content":"How many orders are there?"}]}')
echo "from a clone to the first answer$warm: $(seconds "$start" "$(now)")"
case $answer in
  *846*) ;;
  *)
    echo "unexpected answer: $answer" >&2
    exit 1
    ;;
esac
if scripts/node.sh && ! curl -fsS "http://$address/" | grep -q 'id="root"'; then
  echo "the web app is not part of the program" >&2
  exit 1
fi
stop
start=$(now)
serve bin/footnote demo
echo "from a later start to ready: $(seconds "$start" "$(now)")"
