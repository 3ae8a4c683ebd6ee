# Sets GOFLAGS so that the program, its tests, go vet and staticcheck share compiled
# packages. Programs are linked without debugging tables, so none are made, which shortens
# the first build.
# shellcheck shell=bash
if [[ " ${GOFLAGS:-} " != *" -trimpath "* ]]; then
  GOFLAGS+=" -trimpath -gcflags=all=-dwarf=false"
  export GOFLAGS
fi
