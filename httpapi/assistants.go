package httpapi

import (
	"cmp"
	"net/http"

	"github.com/footnotehq/footnote/protocol"
)

func (s *Server) assistantRoutes() {
	s.Handle("/api/assistants", protocol.Native, get(s.listAssistants))
}

// listAssistants handles GET /api/assistants. The first one is the default.
func (s *Server) listAssistants(w http.ResponseWriter, r *http.Request) error {
	type tool struct {
		Name     string `json:"name"`
		Label    string `json:"label,omitempty"`
		Family   string `json:"family,omitempty"`
		Side     string `json:"side"`
		ReadOnly bool   `json:"read_only"`
		Verdict  string `json:"verdict"` // allow, ask or deny
	}
	type tier struct {
		Name       string `json:"name"`
		Model      string `json:"model"`
		Multiplier int    `json:"multiplier"`
	}
	type assistant struct {
		Name        string   `json:"name"`
		Title       string   `json:"title"`
		Description string   `json:"description"`
		Examples    []string `json:"examples,omitempty"`
		Model       string   `json:"model"`
		Tiers       []tier   `json:"tiers"`
		DefaultTier string   `json:"default_tier,omitempty"` // without a choice
		Tools       []tool   `json:"tools"`
		Available   bool     `json:"available"`
		Reason      string   `json:"reason,omitempty"`
	}
	list := []assistant{}
	for _, a := range s.opts.Engine.Assistants(PrincipalOf(r.Context())) {
		out := assistant{
			Name: a.Name, Title: cmp.Or(a.Title, a.Name), Description: a.Description,
			Examples: a.Examples, Model: a.Model,
			Tiers: []tier{}, DefaultTier: a.DefaultTier, Tools: []tool{},
			Available: a.Unavailable == "", Reason: a.Unavailable,
		}
		for _, t := range a.Tiers {
			out.Tiers = append(out.Tiers, tier{t.Name, t.Model, max(t.Multiplier, 1)})
		}
		for _, t := range a.Tools {
			out.Tools = append(out.Tools, tool{t.Name, t.Label, t.Family, t.Side, t.ReadOnly, t.Verdict})
		}
		list = append(list, out)
	}
	return protocol.WriteValue(w, http.StatusOK, map[string]any{"assistants": list})
}
