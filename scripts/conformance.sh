#!/usr/bin/env bash
# Runs the official conformance suite of the Model Context Protocol against /mcp. The fixtures that it calls are those
# of the official Go SDK's test server, in the version of go.mod: an overlay adds that file to the package of the test.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/goflags.sh
npm --prefix test/conformance ci --no-audit --no-fund --silent
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sdk=$(go list -m -f '{{.Dir}}' github.com/modelcontextprotocol/go-sdk)
sed 's/^package main$/package conformance/; s/^func main()/func _()/' "$sdk/conformance/everything-server/main.go" \
  > "$folder/fixtures_test.go"
printf '{"Replace": {"%s": "%s"}}' "$PWD/test/conformance/fixtures_test.go" "$folder/fixtures_test.go" \
  > "$folder/overlay.json"
go test -count=1 -tags "conformance,arrow_json_stdlib" -overlay "$folder/overlay.json" "$@" ./test/conformance
