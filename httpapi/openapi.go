package httpapi

import (
	"bytes"
	_ "embed"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote/httpapi/consent"
	"github.com/footnotehq/footnote/protocol"
)

// description is the part of the OpenAPI document that describes the app's own API, in YAML.
//
//go:embed openapi.yaml
var description []byte

func (s *Server) descriptionRoutes() {
	document := sync.OnceValues(s.document) // few servers are ever asked for it
	s.open("/api/openapi.yaml", protocol.Native, get(func(w http.ResponseWriter, _ *http.Request) error {
		body, err := document()
		if err != nil {
			return err
		}
		return protocol.Write(w, http.StatusOK, "application/yaml", body)
	}))
}

// document returns the OpenAPI document: the server's own part, and those of the mounted protocols.
func (s *Server) document() ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(description, &doc); err != nil {
		return nil, fmt.Errorf("read the server's OpenAPI document: %w", err)
	}
	for i, m := range s.mounted {
		if err := addPart(doc.Content[0], m.OpenAPI); err != nil {
			return nil, fmt.Errorf("add the OpenAPI document of %T: %w", s.opts.Protocols[i], err)
		}
	}
	if s.opts.Consents != nil {
		if err := addPart(doc.Content[0], consent.OpenAPI); err != nil {
			return nil, fmt.Errorf("add the OpenAPI document of sign-in: %w", err)
		}
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

// addPart adds the paths and the components of a protocol to a document. Each must be new.
func addPart(doc *yaml.Node, part []byte) error {
	var tree yaml.Node
	if err := yaml.Unmarshal(part, &tree); err != nil {
		return err
	}
	if len(tree.Content) == 0 {
		return nil
	}
	for key, section := range entries(tree.Content[0]) {
		switch key.Value {
		case "paths":
			if err := addNew(valueOf(doc, "paths"), section); err != nil {
				return err
			}
		case "components":
			for kind, named := range entries(section) {
				components := valueOf(doc, "components")
				into := valueOf(components, kind.Value)
				if into == nil {
					components.Content = append(components.Content, kind, named)
				} else if err := addNew(into, named); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("it has the key %s; a protocol describes paths and components", key.Value)
		}
	}
	return nil
}

// addNew adds the entries of a mapping to another one, which must not have them.
func addNew(into, from *yaml.Node) error {
	for key, value := range entries(from) {
		if valueOf(into, key.Value) != nil {
			return fmt.Errorf("%s is described already", key.Value)
		}
		into.Content = append(into.Content, key, value)
	}
	return nil
}

// entries iterates over the keys and values of a mapping.
func entries(m *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if !yield(m.Content[i], m.Content[i+1]) {
				return
			}
		}
	}
}

// valueOf returns the value of a key in a mapping, or nil.
func valueOf(m *yaml.Node, name string) *yaml.Node {
	for key, value := range entries(m) {
		if key.Value == name {
			return value
		}
	}
	return nil
}

// Routes returns the methods of each pattern, both the server's own and those added with Handle.
func (s *Server) Routes() map[string][]string { return maps.Clone(s.patterns) }
