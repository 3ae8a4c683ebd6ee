package offline

import (
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// Most is nothing: no model is called.
func (*Planner) Most(model.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Most is nothing: no model is called.
func (Local) Most(model.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Most is nothing: no model is called.
func (Coder) Most(model.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Least is nothing, too.
func (*Planner) Least(model.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Least is nothing, too.
func (Local) Least(model.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// Least is nothing, too.
func (Coder) Least(model.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }
