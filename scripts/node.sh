#!/usr/bin/env bash
# Succeeds if Node.js and npm are installed and new enough to build the web app.
set -euo pipefail
command -v node >/dev/null && command -v npm >/dev/null || exit 1
want=20.19.0
have=$(node --version)
[ "$(printf '%s\n%s\n' "$want" "${have#v}" | sort -V | head -n1)" = "$want" ]
