package offline

import (
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// MaxUse returns nothing, because no model is called.
func (*Planner) MaxUse(model.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// MaxUse returns nothing, because no model is called.
func (Local) MaxUse(model.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// MaxUse returns nothing, because no model is called.
func (Coder) MaxUse(model.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// MinUse returns nothing, because no model is called.
func (*Planner) MinUse(model.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// MinUse returns nothing, because no model is called.
func (Local) MinUse(model.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// MinUse returns nothing, because no model is called.
func (Coder) MinUse(model.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }
