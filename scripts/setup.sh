#!/usr/bin/env bash
# Checks that everything the project needs is installed. With "test", "release", "trial" or
# "boot", installs what the tests, a release or its trials need besides Go and Node.js, with
# apt-get where possible. Quick if everything is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

want_go=1.26
if ! command -v go >/dev/null; then
  echo "Go $want_go or newer is needed: https://go.dev/doc/install" >&2
  exit 1
fi
have_go=$(go env GOVERSION)
have_go=${have_go#go}
if [ "$(printf '%s\n%s\n' "$want_go" "${have_go%%[!0-9.]*}" | sort -V | head -n1)" != "$want_go" ]; then
  echo "Go $want_go or newer is needed; this is $have_go" >&2
  exit 1
fi
[ -n "${1:-}" ] || exit 0

if ! scripts/node.sh; then
  echo "Node.js 20.19 or newer, with npm, is needed for the web app and the client tests: https://nodejs.org" >&2
  exit 1
fi
missing=()
case $1 in
  test)
    command -v curl >/dev/null || missing+=(curl)
    command -v shellcheck >/dev/null || missing+=(shellcheck)
    command -v sqlite3 >/dev/null || missing+=(sqlite3)
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
      command -v google-chrome >/dev/null || missing+=(chromium)
    command -v redis-server >/dev/null || missing+=(redis-server)
    command -v zip >/dev/null || missing+=(zip)
    # Each line for the tests of database engines has a package and its programs, one of which must exist.
    while read -r package programs; do
      # shellcheck disable=SC2086 # a program may be a pattern of paths
      command -v $programs >/dev/null || missing+=("$package")
    done < <(cat source/*/testdata/needs.txt)
    ;;
  release)
    command -v dpkg-deb >/dev/null || missing+=(dpkg)
    command -v zip >/dev/null || missing+=(zip)
    # Both link DuckDB.
    [ "$(uname -m)" = x86_64 ] || command -v x86_64-linux-gnu-g++ >/dev/null || missing+=(g++-x86-64-linux-gnu)
    [ "$(uname -m)" = aarch64 ] || command -v aarch64-linux-gnu-g++ >/dev/null || missing+=(g++-aarch64-linux-gnu)
    ;;
  trial)
    command -v debootstrap >/dev/null || missing+=(debootstrap)
    command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user-static)
    ;;
  boot)
    command -v debootstrap >/dev/null || missing+=(debootstrap)
    command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user-static)
    command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
    command -v qemu-system-aarch64 >/dev/null || missing+=(qemu-system-arm)
    ;;
esac
[ "$(scripts/cgo.sh)" = 1 ] || missing+=(gcc g++ libc6-dev)
[ ${#missing[@]} -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "please install: ${missing[*]}" >&2
  exit 1
fi
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
echo "installing for the $1: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
# The tests start their own Postgres, so Debian need not start one with the system.
pg_conf=/etc/postgresql-common/createcluster.conf
if [[ " ${missing[*]} " = *" postgresql "* ]] && [ ! -e "$pg_conf" ]; then
  "${as_root[@]}" mkdir -p "${pg_conf%/*}"
  echo "create_main_cluster = false" | "${as_root[@]}" tee "$pg_conf" >/dev/null
fi
# Nor any other server: no service may start while packages are installed.
policy=/usr/sbin/policy-rc.d
if [ "$1" = test ] && [ ! -e "$policy" ]; then
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
fi
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" \
  apt-get install -y -qq -o Dpkg::Options::=--force-confold "${missing[@]}" >/dev/null
