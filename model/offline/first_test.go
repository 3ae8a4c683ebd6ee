package offline_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
)

func TestBadgeAppearsOnlyInTheFirstAnswer(t *testing.T) {
	c := shop(t)
	k := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop")
	if s := k.ask("How many orders are there?"); !strings.Contains(s.text, "846") ||
		!strings.Contains(s.text, "Offline planner") {
		t.Errorf("text = %q, want the count and the badge", s.text)
	}
	if s := k.ask("and by status?"); strings.Contains(s.text, "Offline planner") || s.rows == nil {
		t.Errorf("text = %q, want rows and no second badge", s.text)
	}
}
