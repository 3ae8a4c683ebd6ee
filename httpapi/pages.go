package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

// MountPages adds the web app. It needs no key. If an address leads nowhere, because no route matches or because what
// it names does not exist for the caller, notFound serves the app's page with status 404.
func (s *Server) MountPages(patterns []string, page, notFound http.Handler) {
	s.notFoundPage = notFound
	for _, pattern := range patterns {
		missing := s.opts.NoPage[pattern]
		if strings.HasPrefix(pattern, "/c/{id}") {
			missing = s.noConversation
		}
		if pattern == consentPage && s.opts.Consents == nil {
			s.Mount(pattern, notFound)
			continue
		}
		if missing == nil {
			s.Mount(pattern, page)
			continue
		}
		s.Mount(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Callers without a key get the page, which asks for one.
			if s.identify(r) == nil && missing(r) {
				notFound.ServeHTTP(w, r)
				return
			}
			page.ServeHTTP(w, r)
		}))
	}
}

func (s *Server) noConversation(r *http.Request) bool {
	_, err := s.conversation(r, r.PathValue("id"))
	return footnote.CodeOf(err) == footnote.NotFound
}

// opensPage reports whether a browser opens an address that belongs to no API.
func (s *Server) opensPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead ||
		!strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	below := func(prefix string) bool { return strings.HasPrefix(r.URL.Path+"/", prefix) }
	return !below("/api/") && !slices.ContainsFunc(s.mounted, func(m protocol.Routes) bool {
		return m.Prefix != "" && below(m.Prefix)
	})
}
