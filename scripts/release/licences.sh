#!/usr/bin/env bash
# Prints the licences of everything in the program: of Go, of each Go module that one of its builds links, and of the
# npm packages that the web app is built from and with.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."
go=${GO:-go}
line=$(printf '=%.0s' {1..80})

# entry prints the licence files of $1, version $2, in folder $3. $4 stands in for them where there are none.
entry() {
  local files
  mapfile -t files < <(find "$3/" -maxdepth 1 -type f -regextype egrep \
    -iregex '.*/(licen[cs]e|copying|notice|mit-license)[^/]*' -not -name '*.go' | sort)
  if [ ${#files[@]} = 0 ] && [ -z "${4:-}" ]; then
    echo "$1 $2 has no licence file in $3" >&2
    return 1
  fi
  printf '%s\n%s %s\n%s\n\n' "$line" "$1" "$2" "$line"
  if [ ${#files[@]} = 0 ]; then
    printf 'Licence: %s. The package contains no text of it.\n\n' "$4"
  else
    awk 1 "${files[@]}" | tr -d '\r'
    echo
  fi
}

cat <<'END'
Footnote contains or is built with these programs of others. Their licences follow.

END
entry Go "$("$go" env GOVERSION)" "$("$go" env GOROOT)"

module='{{with .Module}}{{if not .Main}}{{.Path}} {{with or .Replace .}}{{.Version}} {{.Dir}}{{end}}{{end}}{{end}}'
modules=$(for target in linux/amd64/1 linux/arm64/1 darwin/amd64/0 darwin/arm64/0 windows/amd64/0; do
  IFS=/ read -r os arch cgo <<<"$target"
  GOOS=$os GOARCH=$arch CGO_ENABLED=$cgo "$go" list -deps -f "$module" ./cmd/footnote
done | sort -u)
while read -r name version folder; do
  entry "$name" "$version" "$folder"
done <<<"$modules"

packages=$(node scripts/release/webpackages.mjs)
while IFS=$'\t' read -r name version folder licence; do
  entry "$name" "$version" "$folder" "$licence"
done <<<"$packages"
