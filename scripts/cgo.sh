#!/usr/bin/env bash
# Prints 1 when a program with DuckDB in it can be linked here, and 0 when not: that
# takes the C compiler Go calls and a C++ library.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-$(go env CC 2>/dev/null || echo gcc)}
for library in stdc++ c++; do
  # shellcheck disable=SC2086 # CC may hold arguments
  if printf 'int main(void){return 0;}' | $cc -x c - "-l$library" -o "$work/out" 2>/dev/null; then
    echo 1
    exit
  fi
done
echo 0
