package httpapi_test

import (
	"github.com/footnotehq/footnote/market/chart"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/aisdk"
	"github.com/footnotehq/footnote/protocol/analyze"
	"github.com/footnotehq/footnote/protocol/chatv2"
	"github.com/footnotehq/footnote/protocol/openai"
)

// allProtocols returns all protocols with their default settings.
func allProtocols() []protocol.Protocol { return protocols(openai.Settings{}, chatv2.Settings{}) }

// protocols returns all protocols, with the given settings of two of them.
func protocols(o openai.Settings, c chatv2.Settings) []protocol.Protocol {
	return []protocol.Protocol{openai.New(o), aisdk.New(), analyze.New(), chatv2.New(c), chart.New()}
}
