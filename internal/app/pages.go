package app

import (
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/web"
)

// pages adds the web app to the HTTP server. Its files need no key: they contain only the program.
func (a *App) pages(api *httpapi.Server) error {
	h, err := web.Handler()
	if err != nil {
		return err
	}
	if !web.Built() {
		a.log.Warn("built without Node.js: this program has no web app")
	}
	for _, pattern := range web.Patterns() {
		api.Mount(pattern, h)
	}
	return nil
}
