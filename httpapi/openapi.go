package httpapi

import (
	_ "embed"
	"maps"
	"net/http"
)

// description is the OpenAPI description of the Server's API, in YAML.
//
//go:embed openapi.yaml
var description []byte

func (s *Server) descriptionRoutes() {
	s.open("/api/openapi.yaml", Native, get(func(w http.ResponseWriter, _ *http.Request) error {
		return writeBody(w, "application/yaml", description)
	}))
}

// Routes returns the methods of each pattern, both the server's own and those added with Handle.
func (s *Server) Routes() map[string][]string { return maps.Clone(s.patterns) }
