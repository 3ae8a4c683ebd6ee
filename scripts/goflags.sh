# Sets GOFLAGS so that the program, its tests, go vet and staticcheck share compiled
# packages. Programs are linked without debugging tables, so none are made; and clients with
# thousands of small functions, which wait for a network anyway, are not inlined. Both shorten
# the first build.
# shellcheck shell=bash
if [[ " ${GOFLAGS:-} " != *" -trimpath "* ]]; then
  printf -v not_inlined " '-gcflags=github.com/%s=-dwarf=false -l'" \
    openai/openai-go/v3/... redis/go-redis/v9
  export GOFLAGS="${GOFLAGS:-} -trimpath -gcflags=all=-dwarf=false$not_inlined"
fi
