package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
)

var (
	ada = footnote.Principal{Org: "acme", User: "ada"}
	bob = footnote.Principal{Org: "acme", User: "bob"}
)

// TestTally checks that the streams of a user and of all users are limited, that a user with too many can still send
// other requests, and that a stream no longer counts when it has ended.
func TestTally(t *testing.T) {
	p := tally{perUser: 2, total: 3}
	var back []func()
	take := func(who footnote.Principal) error {
		t.Helper()
		leave, err := p.request(ownerOf(who))
		if err != nil {
			t.Fatal(err)
		}
		end, err := p.stream(ownerOf(who))
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
	}{
		{ada, ""},
		{ada, ""},
		{ada, footnote.RateLimited},
		{bob, ""},
		{bob, footnote.RateLimited},
		{ada, footnote.RateLimited},
	} {
		if err := take(step.who); step.code == "" && err != nil ||
			step.code != "" && footnote.CodeOf(err) != step.code {
			t.Fatalf("%s: %v, want %q", step.who.User, err, step.code)
		}
	}
	for range spareRequests {
		leave, err := p.request(ownerOf(ada))
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, leave)
	}
	if _, err := p.request(ownerOf(ada)); footnote.CodeOf(err) != footnote.RateLimited {
		t.Errorf("one request too many: %v", err)
	}
	if leave, err := p.request(ownerOf(bob)); err != nil {
		t.Errorf("bob is refused for ada's requests: %v", err)
	} else {
		leave()
	}
	for _, leave := range back {
		leave()
	}
	if len(p.users) != 0 || p.streams != 0 {
		t.Errorf("still open: %d streams, %d users", p.streams, len(p.users))
	}
}

// peer is a connection from an address.
type peer struct {
	net.Conn
	from string
}

func (p *peer) RemoteAddr() net.Addr { return address(p.from) }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// TestConnections checks which connection is closed when there is one too many.
func TestConnections(t *testing.T) {
	for name, test := range map[string]struct {
		steps string // connection, action; a connection's first letter is its address
		want  string // closed when z1 comes; - for none
	}{
		"there is room": {"a1 new, b1 new", "-"},
		"answered first": {
			"a1 idle, b1 new, c1 answered, d1 new, e1 idle, f1 new, g1 new, h1 new", "c1",
		},
		"then the longest idle":          {"a1 new, b1 idle, c1 idle, d1 new, e1 new, f1 ada, g1 ada, h1 new", "b1"},
		"of many, the owner's own idle":  {"b1 idle, a1 new, a2 new, a3 idle, c1 new, d1 new, e1 new, f1 new", "a3"},
		"of many, the oldest that waits": {"b1 new, c1 idle, a1 ada, a2 new, a3 new, a4 new, d1 new, e1 new", "a2"},
		"slow bodies of a user":          {"b1 new, a1 slow, b2 bob, c1 slow, b3 slow, d1 bob, e1 bob, f1 new", "a1"},
		"the newest that works":          {"b1 bob, a1 ada, a2 ada, a3 ada, c1 bob, d1 new, e1 new, f1 new", "a3"},
		"all are equal":                  {"a1 new, b1 new, c1 new, d1 new, e1 new, f1 new, g1 new, h1 new", "z1"},
		"one network":                    {"61 new, b1 new, 62 new, c1 new, d1 new, e1 new, f1 new, g1 new", "61"},
	} {
		t.Run(name, func(t *testing.T) {
			c := connections{max: 8}
			conns := map[string]net.Conn{}
			name := map[net.Conn]string{nil: "-"}
			at := func(n string) net.Conn {
				if conns[n] == nil {
					from := "192.0.2." + fmt.Sprint(n[0]) + ":" + n[1:]
					if n[0] == '6' {
						from = "[2001:db8::" + n[1:] + "]:1"
					}
					conns[n] = &peer{from: from}
					name[conns[n]] = n
				}
				return conns[n]
			}
			for _, step := range strings.Split(test.steps, ", ") {
				n, action, _ := strings.Cut(step, " ")
				conn := at(n)
				if over := c.note(conn, http.StateNew); over != nil {
					t.Fatalf("%s closes %s", step, name[over])
				}
				if action == "new" {
					continue
				}
				c.note(conn, http.StateActive)
				switch action {
				case "ada", "bob":
					c.belongs(conn, footnote.Principal{Org: "acme", User: action})
					c.reach(conn, working)
				case "slow":
					c.belongs(conn, ada)
				case "answered":
					c.reach(conn, answered)
				case "idle":
					c.note(conn, http.StateIdle)
				}
			}
			if over := c.note(at("z1"), http.StateNew); name[over] != test.want {
				t.Errorf("closes %s, want %s", name[over], test.want)
			}
			for _, conn := range conns {
				c.note(conn, http.StateClosed)
			}
			if len(c.all)+len(c.owners)+len(c.list) > 0 {
				t.Errorf("still known: %+v", &c)
			}
		})
	}
}
