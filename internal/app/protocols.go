package app

import (
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/aisdk"
	"github.com/footnotehq/footnote/protocol/analyze"
	"github.com/footnotehq/footnote/protocol/chatv2"
	"github.com/footnotehq/footnote/protocol/openai"
)

// protocols lists the protocols that the server speaks, besides those of modules. Adding one takes a line here.
func (a *App) protocols() []protocol.Protocol {
	return []protocol.Protocol{
		openai.New(openai.Settings{
			InputMaxChars: a.cfg.InputMaxChars, OnDisconnect: a.cfg.OnDisconnect, SideJob: a.sideJob,
		}),
		aisdk.New(),
		analyze.New(),
		chatv2.New(chatv2.Settings{OnBusy: a.cfg.OnBusy}),
	}
}
