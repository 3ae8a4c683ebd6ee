# Sets GOFLAGS so that the program, its tests, go vet and staticcheck share compiled
# packages. Programs are linked without debugging tables, so none are made, which shortens
# the first build. The tag lets Arrow's library use the standard library for JSON: the other
# that it knows makes the program 1.4 MB larger. Functions of libraries that rarely run are
# not inlined, which makes it 0.8 MB smaller.
# shellcheck shell=bash disable=SC2089,SC2090 # Go reads the quotes, not the shell
if [[ " ${GOFLAGS:-} " != *" -trimpath "* ]]; then
  GOFLAGS+=" -trimpath -gcflags=all=-dwarf=false -tags=arrow_json_stdlib"
  for library in go.opentelemetry.io golang.org/x/{net,text} google.golang.org/protobuf gopkg.in/yaml.v3 \
    github.com/{alecthomas,apache/arrow-go,go-jose,google/jsonschema-go,modelcontextprotocol,segmentio,xuri}; do
    GOFLAGS+=" '-gcflags=$library/...=-dwarf=false -l'"
  done
  export GOFLAGS
fi
