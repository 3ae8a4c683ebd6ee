package inbox

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/footnotehq/footnote"
)

// events is a log in memory.
type events []footnote.Positioned

func (e *events) Tail(_ context.Context, after int64, limit int) ([]footnote.Positioned, error) {
	rest := (*e)[min(int(after), len(*e)):]
	return rest[:min(len(rest), limit)], nil
}

func (e *events) add(org, stream string, seq int64, body footnote.Body) {
	ev := footnote.Positioned{Org: org, Position: int64(len(*e) + 1)}
	ev.Stream, ev.Seq, ev.Body = stream, seq, body
	*e = append(*e, ev)
}

var flagged = footnote.Answered{Unresolved: []footnote.Unresolved{{Text: "7"}}}

func items(t *testing.T, b *Inbox, org string) string {
	t.Helper()
	list, whole, err := b.Items(t.Context(), org)
	if err != nil || !whole {
		t.Fatal(whole, err)
	}
	text := ""
	for _, i := range list {
		text += fmt.Sprintf("%s/%d down %d flagged %d\n", i.Conversation, i.Seq, i.Feedback, i.Flagged)
	}
	return text
}

// TestItems checks which answers are listed, that a person can change their mind, and that the list outlives a restart.
func TestItems(t *testing.T) {
	log, file := &events{}, filepath.Join(t.TempDir(), "inbox.json")
	b, err := Open(log, file)
	if err != nil {
		t.Fatal(err)
	}
	log.add("acme", "c1", 3, flagged)
	log.add("acme", "c2", 3, footnote.Answered{})
	log.add("acme", "c2", 4, footnote.Feedback{Seq: 3})
	log.add("acme", "c3", 4, footnote.Feedback{Seq: 3, Good: true})
	log.add("other", "c4", 3, flagged)
	if got := items(t, b, "acme"); got != "c2/3 down 4 flagged 0\nc1/3 down 0 flagged 1\n" {
		t.Errorf("items:\n%s", got)
	}
	log.add("acme", "c1", 4, footnote.Feedback{Seq: 3})
	log.add("acme", "c2", 5, footnote.Feedback{Seq: 3, Good: true})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b.Follow(ended, slog.New(slog.DiscardHandler))
	if b, err = Open(&events{}, file); err != nil {
		t.Fatal(err)
	}
	if got := items(t, b, "acme"); got != "c1/3 down 4 flagged 1\n" {
		t.Errorf("after a restart:\n%s", got)
	}
	b.Remove("acme", Item{Conversation: "c1", Seq: 3})
	if got := items(t, b, "acme"); got != "" {
		t.Errorf("after the conversation was deleted:\n%s", got)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(log, file); err == nil {
		t.Error("a damaged file is read")
	}
}

// TestListIsBounded checks that neither one organisation nor many keep too much, and that the newest stay.
func TestListIsBounded(t *testing.T) {
	b, err := Open(&events{}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range perOrg + 100 {
		for org := range 60 {
			ev := footnote.Positioned{Org: fmt.Sprint("org", org)}
			ev.Stream, ev.Seq, ev.Body = fmt.Sprint("c", i), 3, flagged
			b.follow(ev)
		}
	}
	total := 0
	for org, items := range b.kept.Orgs {
		if total += len(items); len(items) > perOrg ||
			items[len(items)-1].Conversation != fmt.Sprint("c", perOrg+99) {
			t.Errorf("%s has %d items", org, len(items))
		}
	}
	if total > maxItems || total != b.total {
		t.Errorf("%d items are kept, counted as %d", total, b.total)
	}
}
