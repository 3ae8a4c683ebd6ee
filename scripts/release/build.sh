#!/usr/bin/env bash
# Builds a release into $1 (bin/release): archives for Linux, macOS and Windows, Debian packages, the context of the
# container image, lists of what is in them (CycloneDX), install.sh and SHA256SUMS. The same commit, built with the same
# compilers, gives the same bytes. It runs on Linux.
set -euo pipefail
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/../.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)
here=scripts/release
out=$(realpath -m "${1:-bin/release}")
export GO=${GO:-go}

# The suffix has a fixed length, so that every clone produces the same name.
version=$(git describe --tags --match 'v[0-9]*' --abbrev=12 --dirty 2>/dev/null ||
  echo "v0.0.0-$(git rev-list --count HEAD)-g$(git rev-parse --short=12 HEAD)$(git diff --quiet HEAD || echo -dirty)")
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
# The version has the state of the working copy, so Go need not add it.
export GOFLAGS=-buildvcs=false

scripts/setup.sh release
scripts/ui.sh
"$GO" tool -modfile=$here/tools.mod cyclonedx-gomod version >/dev/null # fetches it
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out"
mkdir -p "$out"
echo "footnote $version: licences"
$here/licences.sh >"$work/licences"

# compiler prints the C compiler for Linux on architecture $1.
compiler() {
  local name
  case $1 in amd64) name=x86_64 ;; arm64) name=aarch64 ;; esac
  if [ "$name" = "$(uname -m)" ]; then echo "${CC:-gcc}"; else echo "$name-linux-gnu-gcc"; fi
}

# old_enough checks that program $1 starts on Debian 12 and Ubuntu 22.04, whose libraries must have what it needs.
old_enough() {
  local newest limit
  for limit in GLIBC_2.34 GLIBCXX_3.4.30; do
    newest=$(readelf -V "$1" | grep -oE "${limit%%_*}_[0-9.]+" | sort -uV | tail -n1)
    if [ "$(printf '%s\n' "$newest" "$limit" | sort -V | tail -n1)" != "$limit" ]; then
      echo "$1 needs $newest, which Debian 12 or Ubuntu 22.04 lack: build the release on one of these" >&2
      return 1
    fi
  done
}

# The libraries to link DuckDB for macOS and Windows are not available here.
for target in linux/amd64/1 linux/arm64/1 darwin/amd64/0 darwin/arm64/0 windows/amd64/0; do
  IFS=/ read -r os arch cgo <<<"$target"
  echo "footnote $version: $os/$arch"
  program=$work/${os}_$arch/footnote
  GOOS=$os GOARCH=$arch CGO_ENABLED=$cgo CC=$(compiler "$arch") scripts/build.sh "$program" "$version"
  $here/pack.sh archive "$out" "$version" "$os" "$arch" "$program" "$work/licences"
  # Without timestamps and random ids, so that the output is reproducible, and without asking the module proxy for
  # Footnote, which is not published. Its warnings about Footnote and Go can be ignored.
  GOPROXY=off "$GO" tool -modfile=$here/tools.mod cyclonedx-gomod bin -json -std -licenses -noserial -notimestamp \
    -version "$version" -output "$out/footnote_${version#v}_${os}_$arch.cdx.json" "$program" \
    2> >(grep -vE 'footnotehq/footnote@|std@go' >&2)
  if [ "$os" = linux ]; then
    old_enough "$program"
    $here/pack.sh deb "$out" "$version" "$arch" "$program" "$work/licences"
  fi
done
$here/pack.sh container "$out" "$version" "$work" "$work/licences"
node $here/webpackages.mjs --cyclonedx >"$out/footnote_${version#v}_web.cdx.json"
$here/pack.sh finish "$out"
cat "$out/SHA256SUMS"
