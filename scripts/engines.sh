#!/usr/bin/env bash
# Prints the folders of the database engines, one per line: those below source/ whose tests run source/sourcetest.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '/source/sourcetest"$' source | xargs dirname | sort -u
