package offline

import (
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// free is part of every planner, because it calls no model.
type free struct{}

// MaxUse returns nothing, because no model is called.
func (free) MaxUse(model.Request) (int64, footnote.Cost) { return 0, footnote.Cost{} }

// MinUse returns nothing, because no model is called.
func (free) MinUse(model.Request, int) (int64, footnote.Cost) { return 0, footnote.Cost{} }
