# Sets GOFLAGS so that the program, its tests, go vet and staticcheck share compiled
# packages. Programs are linked without debugging tables, so none are made; and the client of
# Redis, thousands of small functions that wait for a network anyway, is not inlined. Both
# shorten the first build.
# shellcheck shell=bash disable=SC2089,SC2090 # Go reads the quotes, not the shell
if [[ " ${GOFLAGS:-} " != *" -trimpath "* ]]; then
  GOFLAGS+=" -trimpath -gcflags=all=-dwarf=false '-gcflags=github.com/redis/go-redis/v9=-dwarf=false -l'"
  export GOFLAGS
fi
