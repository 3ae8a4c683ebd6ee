# Sets GOFLAGS so that the program, its tests, go vet and staticcheck share compiled
# packages. Programs are linked without debugging tables, so none are made; and the
# thousands of request types of the model's SDK, of which we use the transport, are not
# inlined. Both shorten the first build.
# shellcheck shell=bash
if [[ " ${GOFLAGS:-} " != *" -trimpath "* ]]; then
  GOFLAGS="${GOFLAGS:-} -trimpath -gcflags=all=-dwarf=false"
  export GOFLAGS="$GOFLAGS '-gcflags=github.com/anthropics/anthropic-sdk-go/v2=-dwarf=false -l'"
fi
