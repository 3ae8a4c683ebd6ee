package httpapi

import (
	_ "embed"
	"maps"
	"net/http"
)

// description is the OpenAPI description of what a Server serves, in YAML.
//
//go:embed openapi.yaml
var description []byte

func (s *Server) descriptionRoutes() {
	s.open("/api/openapi.yaml", Native, get(func(w http.ResponseWriter, _ *http.Request) error {
		return writeBody(w, "application/yaml", description)
	}))
}

// Routes are the methods of each pattern that has been added with Handle, or is the
// server's own.
func (s *Server) Routes() map[string][]string { return maps.Clone(s.patterns) }
