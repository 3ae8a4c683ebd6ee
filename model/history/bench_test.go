package history

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
)

func imported() []footnote.Event {
	var turns []footnote.TextTurn
	words := strings.Repeat("The orders of last month were good. ", 28)
	for size := 0; size < 200<<10; size += 2 * len(words) {
		turns = append(turns, footnote.TextTurn{
			Role: "user",
			Text: words,
		}, footnote.TextTurn{Role: "assistant", Text: words})
	}
	return []footnote.Event{
		{Seq: 1, Body: footnote.Imported{Turns: turns}}, {Seq: 2, Body: footnote.UserMessage{Text: "And this month?"}},
	}
}

// TestImportedAllocations checks that imported text is encoded without being decoded again.
func TestImportedAllocations(t *testing.T) {
	events := imported()
	turns := float64(len(events[0].Body.(footnote.Imported).Turns))
	if n := testing.AllocsPerRun(20, func() { Messages(events) }) / turns; n > 3 {
		t.Errorf("%.1f allocations for each imported turn, want at most 3", n)
	}
}

// BenchmarkImported builds the messages of a conversation that began with 200 KB of imported text.
func BenchmarkImported(b *testing.B) {
	events := imported()
	b.ReportAllocs()
	for b.Loop() {
		Messages(events)
	}
}
