package httpapi

import (
	"net"
	"net/http"
	"testing"

	"github.com/footnotehq/footnote"
)

var (
	ada = footnote.Principal{Org: "acme", User: "ada"}
	bob = footnote.Principal{Org: "acme", User: "bob"}
)

// TestTally holds that a user's streams, and those of all, are bounded; that a user
// with too many still has places for other requests; and that each place comes back.
func TestTally(t *testing.T) {
	p := tally{perUser: 2, total: 3}
	var back []func()
	take := func(who footnote.Principal) error {
		t.Helper()
		leave, err := p.request(who)
		if err != nil {
			t.Fatal(err)
		}
		end, err := p.stream(who)
		if err != nil {
			leave()
			return err
		}
		back = append(back, func() { end(); leave() })
		return nil
	}
	for _, step := range []struct {
		who  footnote.Principal
		code footnote.Code
	}{{ada, ""}, {ada, ""}, {ada, footnote.RateLimited}, {bob, ""}, {bob, footnote.RateLimited}, {ada, footnote.RateLimited}} {
		if err := take(step.who); step.code == "" && err != nil || step.code != "" && footnote.CodeOf(err) != step.code {
			t.Fatalf("%s: %v, want %q", step.who.User, err, step.code)
		}
	}
	for range spareRequests {
		leave, err := p.request(ada)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, leave)
	}
	if _, err := p.request(ada); footnote.CodeOf(err) != footnote.RateLimited {
		t.Errorf("one request too many: %v", err)
	}
	if leave, err := p.request(bob); err != nil {
		t.Errorf("bob is refused for ada's requests: %v", err)
	} else {
		leave()
	}
	for _, leave := range back {
		leave()
	}
	if len(p.users) != 0 || p.open != (held{}) {
		t.Errorf("still open: %+v, %d users", p.open, len(p.users))
	}
}

// TestConnections holds which connection is closed when there is one too many.
func TestConnections(t *testing.T) {
	c := connections{max: 3}
	var conns [8]net.Conn
	for i := range conns {
		conns[i], _ = net.Pipe()
	}
	for i, step := range []struct {
		conn  int
		state http.ConnState
		over  int // -1: none
	}{
		{0, http.StateNew, -1}, {0, http.StateActive, -1},
		{1, http.StateNew, -1},
		{2, http.StateNew, -1}, {2, http.StateActive, -1}, {2, http.StateIdle, -1},
		{3, http.StateNew, 2}, {2, http.StateClosed, -1}, // the idle one
		{4, http.StateNew, 1}, {1, http.StateClosed, -1}, // the one that has sent nothing
		{3, http.StateActive, -1}, {4, http.StateActive, -1},
		{5, http.StateNew, 5}, {5, http.StateClosed, -1}, // all others are busy
		{0, http.StateClosed, -1},
		{6, http.StateNew, -1},
	} {
		want := net.Conn(nil)
		if step.over >= 0 {
			want = conns[step.over]
		}
		if over := c.note(conns[step.conn], step.state); over != want {
			t.Fatalf("step %d closes another connection", i)
		}
	}
	if len(c.all) != 3 || len(c.home) != 3 {
		t.Errorf("%d connections are known", len(c.all))
	}
}
