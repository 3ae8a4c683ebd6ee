#!/bin/sh
# Installs Footnote from a release folder: checks the archive for this machine against SHA256SUMS, and copies the
# program to PREFIX/bin. It needs no root unless PREFIX does. Run it again to update.
#
#   sh install.sh                                  from the folder this script is in
#   sh install.sh --from FOLDER                    from another folder
#   sh install.sh --from https://example.org/v1    from a release folder on a web server
#   sh install.sh --prefix DIR                     into DIR/bin (default: /usr/local as root, otherwise ~/.local)
#   sh install.sh --uninstall                      removes what it installed; conversations and settings stay
set -eu

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

from='' prefix='' uninstall=''
while [ $# -gt 0 ]; do
  case $1 in
    --from | --prefix)
      [ -n "${2:-}" ] || fail "$1 needs a value"
      if [ "$1" = --from ]; then from=$2; else prefix=$2; fi
      shift 2
      ;;
    --uninstall) uninstall=1 && shift ;;
    -h | --help)
      sed -n '/^#   /s/^#   //p' "$0"
      exit 0
      ;;
    *) fail "unknown argument $1; try: sh install.sh --help" ;;
  esac
done
if [ -z "$prefix" ]; then
  if [ "$(id -u)" = 0 ]; then
    prefix=/usr/local
  else
    prefix=${HOME:?set HOME, or say --prefix DIR}/.local
  fi
fi
case $prefix in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac
share=$prefix/share/doc/footnote

if [ -n "$uninstall" ]; then
  rm -f "$prefix/bin/footnote"
  rm -rf "$share"
  say "removed $prefix/bin/footnote and $share"
  say "Your conversations (the data folder) and settings (footnote.yaml) are where they were."
  exit 0
fi

case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) fail "no archive for $(uname -s); for Windows unpack the zip file" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "no archive for $(uname -m): there are amd64 and arm64" ;;
esac

work=$(mktemp -d)
staged=''
trap 'rm -rf "$work"; [ -z "$staged" ] || rm -f "$staged"' EXIT
trap 'exit 1' HUP INT TERM

[ -n "$from" ] || from=$(cd "$(dirname "$0")" && pwd)
from=${from%/}
# get copies the file $1 of the release folder into $work.
get() {
  case $from in
    https://*) curl -fsSL --proto '=https' --proto-redir '=https' -o "$work/$1" "$from/$1" ||
      fail "cannot fetch $from/$1" ;;
    *://*) fail "$from: only https:// addresses and folders work" ;;
    *) cp "$from/$1" "$work/$1" || fail "cannot read $from/$1; is $from a release folder?" ;;
  esac
}
digest() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    fail "sha256sum or shasum is needed to check the archive"
  fi | cut -d ' ' -f 1
}

get SHA256SUMS
# One line: the digest and the archive for this machine. Names with a slash do not match.
line=$(grep -E "^[0-9a-f]{64}  footnote_[A-Za-z0-9.+~-]+_${os}_${arch}(_untested)?\.tar\.gz\$" "$work/SHA256SUMS") ||
  fail "$from/SHA256SUMS names no archive for $os on $arch"
[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "$from/SHA256SUMS names several archives for $os on $arch"
want=${line%% *}
archive=${line##* }
get "$archive"
have=$(digest "$work/$archive")
[ "$have" = "$want" ] ||
  fail "$archive is damaged or was changed: its SHA-256 is $have, and SHA256SUMS says $want. Nothing was installed."
say "checked $archive against SHA256SUMS"

tar -xzf "$work/$archive" -C "$work"
unpacked=$work/${archive%.tar.gz}
version=$("$unpacked/footnote" version) ||
  fail "the program does not run here. It needs Debian 12, Ubuntu 22.04 or newer, or another Linux with glibc 2.34 and \
libstdc++ 12. Nothing was installed."

if [ -f "$prefix/bin/footnote" ] && cmp -s "$unpacked/footnote" "$prefix/bin/footnote"; then
  say "$prefix/bin/footnote is this version already: $version"
else
  mkdir -p "$prefix/bin" 2>/dev/null || true
  [ -w "$prefix/bin" ] ||
    fail "cannot write $prefix/bin; choose another folder with --prefix, or run this as root"
  # Rename into place, so that the program is never incomplete and a running server is unaffected.
  staged=$(mktemp "$prefix/bin/.footnote.XXXXXX")
  cp "$unpacked/footnote" "$staged"
  chmod 755 "$staged"
  mv -f "$staged" "$prefix/bin/footnote"
  staged=''
  say "installed $prefix/bin/footnote: $version"
fi
mkdir -p "$share"
for file in "$unpacked"/*; do
  [ "${file##*/}" = footnote ] || cp "$file" "$share/"
done
chmod 644 "$share"/*
say "licences, an example of the settings and the instructions are in $share"
[ ! -f "$unpacked/UNTESTED.txt" ] || cat "$unpacked/UNTESTED.txt"

command=footnote
if [ "$(command -v footnote || true)" != "$prefix/bin/footnote" ]; then
  command=$prefix/bin/footnote
  say "Add $prefix/bin to your PATH to call it by its name."
fi
say "Next: $command demo"
