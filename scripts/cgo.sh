#!/usr/bin/env bash
# Prints 1 if a program with DuckDB can be linked here (which needs the C compiler that Go
# uses, and a C++ library), otherwise 0.
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
