# Sets GOFLAGS so that the program, its tests, go vet and staticcheck share compiled
# packages. Programs are linked without debugging tables, so none are made, which shortens
# the first build. The tag lets Arrow's library use the standard library for JSON; the other
# that it knows makes the program 2 MB larger and takes long to compile.
# shellcheck shell=bash
if [[ " ${GOFLAGS:-} " != *" -trimpath "* ]]; then
  GOFLAGS+=" -trimpath -gcflags=all=-dwarf=false -tags=arrow_json_stdlib"
  export GOFLAGS
fi
