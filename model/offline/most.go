package offline

import (
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
)

// Most is nothing: no model is called.
func (*Planner) Most(agent.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Most is nothing: no model is called.
func (Local) Most(agent.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Most is nothing: no model is called.
func (Coder) Most(agent.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Least is nothing, too.
func (*Planner) Least(agent.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Least is nothing, too.
func (Local) Least(agent.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Least is nothing, too.
func (Coder) Least(agent.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }
