package app

import (
	"log/slog"
	"sync"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/telemetry"
)

// marks decides which models are asked for marks. It implements agent.Marks.
type marks struct {
	mode    string // config.Config.Marks
	metrics *telemetry.Metrics
	log     *slog.Logger

	mu     sync.Mutex
	models map[string]*marking
}

// marking counts the figures and marks of a model.
type marking struct{ figures, held, broken int }

func newMarks(c config.Config, m *telemetry.Metrics, log *slog.Logger) *marks {
	mode := c.Marks
	if c.Upstream == config.Offline {
		mode = "off" // the planner knows its cells
	}
	return &marks{mode: mode, metrics: m, log: log, models: map[string]*marking{}}
}

// A model is judged after enough figures. It is no longer asked for marks if it has marked too few of them, or too many
// wrongly.
const (
	enoughFigures = 30
	fewestHeld    = 3 // tenths of the figures
	mostBroken    = 2 // tenths of the marks
)

func (m *marking) fails() bool {
	return m.figures >= enoughFigures &&
		(10*m.held < fewestHeld*m.figures || 10*m.broken > mostBroken*(m.held+m.broken))
}

// Wanted implements agent.Marks.
func (m *marks) Wanted(model string) bool {
	if m.mode != "auto" {
		return m.mode == "on"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.models[model]
	return of == nil || !of.fails()
}

// Counted implements agent.Marks.
func (m *marks) Counted(model string, figures, held, broken int) {
	m.metrics.MarksChecked(model, held, broken)
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.models[model]
	if of == nil {
		of = &marking{}
		m.models[model] = of
	}
	failed := of.fails()
	of.figures, of.held, of.broken = of.figures+figures, of.held+held, of.broken+broken
	if m.mode == "auto" && !failed && of.fails() {
		m.log.Warn("the model is no longer asked for marks: it writes too few, or too many that are wrong",
			"model", model, "figures", of.figures, "verified", of.held, "wrong", of.broken)
	}
}
