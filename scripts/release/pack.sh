#!/usr/bin/env bash
# Packs a built program. The same input gives the same bytes.
#
#   pack.sh archive OUT VERSION OS ARCH PROGRAM LICENCES   OUT/footnote_VERSION_OS_ARCH.tar.gz, or .zip for Windows
#   pack.sh deb OUT VERSION ARCH PROGRAM LICENCES          OUT/footnote_VERSION_ARCH.deb
#   pack.sh container OUT VERSION FOLDER LICENCES          OUT/footnote_VERSION_container.tar.gz, with the programs
#                                                          FOLDER/linux_ARCH/footnote
#   pack.sh finish OUT                                     OUT/install.sh and OUT/SHA256SUMS
#
# LICENCES is the file that licences.sh writes. SOURCE_DATE_EPOCH is the time of every file.
set -euo pipefail
export LC_ALL=C TZ=UTC
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
: "${SOURCE_DATE_EPOCH:?}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# tarball packs the folder $1 of $work into $2.
tarball() {
  tar -C "$work" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode=u+rwX,go+rX,go-w -cf - "$1" | gzip -n >"$2.part"
  mv "$2.part" "$2"
}

# texts puts the files that accompany the program into folder $1; $2 has the licences.
texts() {
  mkdir -p "$1"
  install -m 644 "$root/LICENSE" "$root/README.md" "$1/"
  install -m 644 "$root/docs/installing.md" "$1/INSTALLING.md"
  install -m 644 "$2" "$1/THIRD-PARTY-LICENCES.txt"
}

# debian_version turns v1.2.0-rc1 into 1.2.0~rc1, which is older than 1.2.0, and v1.2.0-5-gabc into 1.2.0+5.gabc, which
# is newer.
debian_version() {
  sed -E 's/^v//; s/-([0-9]+)-(g[0-9a-f]+)/+\1.\2/; s/-dirty/+dirty/; s/-/~/g' <<<"$1"
}

archive() {
  local out=$1 version=$2 os=$3 arch=$4 program=$5 licences=$6 label='' name exe=footnote
  # These are untested.
  [ "$os" = linux ] || label=_untested
  [ "$os" != windows ] || exe=footnote.exe
  name=footnote_${version#v}_${os}_$arch$label
  texts "$work/$name" "$licences"
  install -m 755 "$program" "$work/$name/$exe"
  sed -E 's|^data: .*|data: data|; s|/srv/footnote/||; s|The user footnote must|You must|' "$here/footnote.yaml" \
    >"$work/$name/footnote.example.yaml"
  if [ -n "$label" ]; then
    cat >"$work/$name/UNTESTED.txt" <<'END'
This program was built on Linux. Nobody has run it on this system: no test, no first start.
It opens SQLite files and Postgres. It has no DuckDB, so it cannot open CSV, Parquet, JSON or Excel files.
END
  fi
  if [ "$os" = windows ]; then
    find "$work/$name" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
    rm -f "$out/$name.zip"
    (cd "$work" && find "$name" -type f | sort | zip -X -q -@ "$name.zip")
    mv "$work/$name.zip" "$out/$name.zip"
  else
    tarball "$name" "$out/$name.tar.gz"
  fi
}

deb() {
  local out=$1 version=$2 arch=$3 program=$4 licences=$5 tree=$work/tree doc
  version=$(debian_version "$version")
  doc=$tree/usr/share/doc/footnote
  texts "$doc" "$licences"
  mv "$doc/LICENSE" "$doc/copyright"
  gzip -9n "$doc/THIRD-PARTY-LICENCES.txt"
  install -D -m 755 "$program" "$tree/usr/bin/footnote"
  install -D -m 644 "$here/footnote.service" "$tree/usr/lib/systemd/system/footnote.service"
  install -D -m 644 "$here/footnote.yaml" "$tree/etc/footnote/footnote.yaml"
  mkdir "$tree/DEBIAN"
  install -m 755 "$here/debian/"* "$tree/DEBIAN/"
  echo /etc/footnote/footnote.yaml >"$tree/DEBIAN/conffiles"
  cat >"$tree/DEBIAN/control" <<END
Package: footnote
Version: $version
Architecture: $arch
Maintainer: Footnote's authors <footnote@localhost>
Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$tree" | cut -f1)
Depends: libc6 (>= 2.34), libstdc++6 (>= 12), passwd
Recommends: ca-certificates
Section: database
Priority: optional
Description: data analyst that shows the cell and the query behind every number
 Answers questions about CSV, Excel, Parquet, JSON, SQLite, DuckDB and Postgres
 in plain words, in a web app, an OpenAI-compatible server and on the command
 line. It only reads.
END
  (cd "$tree" && find . -type f -not -path './DEBIAN/*' -printf '%P\n' | sort | xargs md5sum >DEBIAN/md5sums)
  find "$tree" -type d -exec chmod 755 {} +
  # One thread, because the number of threads changes the bytes.
  dpkg-deb --root-owner-group -Zxz -z1 --threads-max=1 --build "$tree" "$out/footnote_${version}_$arch.deb" >/dev/null
}

container() {
  local out=$1 version=$2 folder=$3 licences=$4 name tree
  name=footnote_${version#v}_container
  tree=$work/$name
  texts "$tree" "$licences"
  for program in "$folder"/linux_*/footnote; do
    install -D -m 755 "$program" "$tree/$(basename "$(dirname "$program")")/footnote"
  done
  # The last stage of the Dockerfile, with the program from here instead of from the stage before.
  # shellcheck disable=SC2016 # Docker expands TARGETARCH
  awk '/^FROM /{ stage = "" } { stage = stage $0 "\n" } END { printf "%s", stage }' "$root/Dockerfile" |
    sed 's|^COPY --from=program /footnote |ARG TARGETARCH\nCOPY linux_$TARGETARCH/footnote |' >"$tree/Dockerfile"
  grep -q '^COPY linux_' "$tree/Dockerfile"
  tarball "$name" "$out/$name.tar.gz"
}

finish() {
  install -m 755 "$here/install.sh" "$1/install.sh"
  (cd "$1" && find . -maxdepth 1 -type f -not -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum) >"$work/sums"
  install -m 644 "$work/sums" "$1/SHA256SUMS"
}

"$@"
