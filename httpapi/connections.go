package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/footnotehq/footnote"
)

// connections limits the connections of an http.Server, so that the process keeps file descriptors for other uses. If
// there are too many, it closes one, chosen so that no client can lock others out; see choose.
//
// A connection belongs to the user of its request, and to its peer address until the request is authenticated.
type connections struct {
	max int

	mu     sync.Mutex // guards below
	all    map[net.Conn]*link
	list   []*link // the same, to look through when there are too many
	owners map[owner]*holder
	clock  int64 // counts changes
}

// owner is an organisation and its user, or an empty string and a peer address.
type owner [2]string

func ownerOf(p footnote.Principal) owner { return owner{p.Org, p.User} }

// stage is one step in the life of a connection.
type stage int

const (
	waiting  stage = iota // for a request or the rest of its body
	working               // on a request that has arrived
	idle                  // between two requests
	answered              // and about to close, or waiting for an unneeded rest of a body
)

// link is one connection.
type link struct {
	conn  net.Conn
	place int // in connections.list
	owner owner
	at    stage
	since int64 // when it came to its owner and stage, by connections.clock
}

// holder is an owner with connections.
type holder struct {
	n     int
	since int64 // when n changed last
}

// changed implements the ConnState hook of an http.Server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if over := c.note(conn, state); over != nil {
		_ = over.Close() // its state changes to closed when the server notices
	}
}

// note records a change of state. It returns the connection to close, or nil.
func (c *connections) note(conn net.Conn, state http.ConnState) (over net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.all[conn]
	switch state {
	case http.StateNew:
		l = c.add(conn)
		if len(c.all) > c.max {
			chosen := c.choose(l)
			c.forget(chosen)
			return chosen.conn
		}
	case http.StateActive:
		c.move(l, peerOf(conn), waiting)
	case http.StateIdle:
		if l != nil {
			c.move(l, l.owner, idle)
		}
	default:
		c.forget(l)
	}
	return nil
}

// reach records that the request on a connection has come to a stage. The connection is nil without an http.Server of
// HTTPServer.
func (c *connections) reach(conn net.Conn, at stage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.all[conn]; l != nil {
		c.move(l, l.owner, at)
	}
}

// belongs records whose request is on a connection.
func (c *connections) belongs(conn net.Conn, p footnote.Principal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.all[conn]; l != nil {
		c.move(l, ownerOf(p), l.at)
	}
}

// choose returns the connection to close when there are too many: the one whose loss does least harm, or one of an
// owner who has more than a quarter of all connections. c.mu must be held.
func (c *connections) choose(newest *link) *link {
	most := c.most(newest.owner)
	many := c.owners[most].n > c.max/4
	var chosen *link
	best, order := 0, int64(0)
	for _, l := range c.list {
		var rank int
		since := l.since // the one that is longest in its stage
		switch theirs := l.owner == most; {
		case l.at == answered:
			rank = 1
		case theirs && many && l.at == idle:
			rank = 2
		case theirs && many && l.at == waiting:
			rank = 3
		case l.at == idle:
			rank = 4
		case theirs && l.at == waiting:
			rank = 5
		case theirs:
			rank, since = 6, -l.since // the newest that works loses least
		default:
			continue
		}
		if chosen == nil || rank < best || rank == best && since < order {
			chosen, best, order = l, rank, since
		}
	}
	return chosen
}

// most returns the owner with most connections; of several, the one that has had that many for longest. If own has as
// many, only this owner loses work. c.mu must be held.
func (c *connections) most(own owner) owner {
	most := own
	for o, h := range c.owners {
		m := c.owners[most]
		if h.n > m.n || h.n == m.n && most != own && h.since < m.since {
			most = o
		}
	}
	return most
}

// add adds a new connection. c.mu must be held.
func (c *connections) add(conn net.Conn) *link {
	if c.all == nil {
		c.all, c.owners = map[net.Conn]*link{}, map[owner]*holder{}
	}
	l := &link{conn: conn, place: len(c.list), owner: peerOf(conn)}
	c.all[conn], c.list = l, append(c.list, l)
	c.count(l, 1)
	return l
}

// forget removes a connection; l may be nil. c.mu must be held.
func (c *connections) forget(l *link) {
	if l == nil {
		return
	}
	c.count(l, -1)
	last := len(c.list) - 1
	c.list[l.place], c.list[last].place = c.list[last], l.place
	c.list[last] = nil
	c.list = c.list[:last]
	delete(c.all, l.conn)
}

// move gives a connection its owner and stage; l is nil if the connection was closed already. c.mu must be held.
func (c *connections) move(l *link, to owner, at stage) {
	if l == nil || l.owner == to && l.at == at {
		return
	}
	c.count(l, -1)
	l.owner, l.at = to, at
	c.count(l, 1)
}

// count changes the number of the connections of l's owner. c.mu must be held.
func (c *connections) count(l *link, by int) {
	c.clock++
	l.since = c.clock
	h := c.owners[l.owner]
	if h == nil {
		h = &holder{}
		c.owners[l.owner] = h
	}
	h.since = c.clock
	if h.n += by; h.n == 0 {
		delete(c.owners, l.owner)
	}
}

// peerOf returns the owner of a connection whose user is not known. One host may have all addresses of an IPv6 network,
// so the network counts.
func peerOf(conn net.Conn) owner {
	address := conn.RemoteAddr().String()
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return owner{"", address}
	}
	ip := ap.Addr().Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		if network, err := ip.Prefix(64); err == nil {
			return owner{"", network.String()}
		}
	}
	return owner{"", ip.String()}
}

type connKey struct{}

// withConn implements the ConnContext hook of an http.Server.
//
// It bounds what the kernel accepts before the client reads. Linux would let that grow to 4 MB and wake a blocked
// writer only when a third of it is free: a client that reads steadily, but takes more than answerWrite for that third,
// would seem to read nothing.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	limitUnsent(conn)
	return context.WithValue(ctx, connKey{}, conn)
}

// connOf returns the connection of a request, or nil without an http.Server of HTTPServer.
func connOf(ctx context.Context) net.Conn {
	conn, _ := ctx.Value(connKey{}).(net.Conn)
	return conn
}
