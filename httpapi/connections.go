package httpapi

import (
	"container/list"
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

	mu       sync.Mutex // guards below
	all      map[net.Conn]*link
	owners   map[owner]*holder
	ranks    []*list.List // holders by their number of connections; the last list is never empty
	answered list.List    // links in this stage, longest first
	idle     list.List    // links in this stage, longest first
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
	answered              // and about to close, or waiting for the rest of a body that nobody needs
	stages
)

// link is one connection.
type link struct {
	conn  net.Conn
	of    *holder
	at    stage
	place *list.Element // in of.links[at]
	queue *list.Element // in connections.idle or connections.answered, or nil
}

// holder is an owner with connections.
type holder struct {
	owner owner
	n     int
	links [stages]list.List // longest in this stage first
	rank  *list.Element     // in connections.ranks[n]
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
			c.move(l, l.of.owner, idle)
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
		c.move(l, l.of.owner, at)
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
	most := c.most()
	if most.n == newest.of.n {
		most = newest.of // nobody else has more, so nobody else loses work
	}
	if e := c.answered.Front(); e != nil {
		return e.Value.(*link)
	}
	if most.n > c.max/4 {
		if l := most.longest(idle, waiting); l != nil {
			return l
		}
	}
	if e := c.idle.Front(); e != nil {
		return e.Value.(*link)
	}
	if l := most.longest(waiting); l != nil {
		return l
	}
	return most.links[working].Back().Value.(*link) // the newest, which loses least
}

// longest returns the connection that has been longest in the first of the stages that has any, or nil.
func (h *holder) longest(in ...stage) *link {
	for _, at := range in {
		if e := h.links[at].Front(); e != nil {
			return e.Value.(*link)
		}
	}
	return nil
}

// most returns the owner with most connections; of several, the one that has had that many for longest. c.mu must be
// held.
func (c *connections) most() *holder { return c.ranks[len(c.ranks)-1].Front().Value.(*holder) }

// add adds a new connection. c.mu must be held.
func (c *connections) add(conn net.Conn) *link {
	if c.all == nil {
		c.all, c.owners = map[net.Conn]*link{}, map[owner]*holder{}
	}
	l := &link{conn: conn}
	c.all[conn] = l
	c.put(l, peerOf(conn), waiting)
	return l
}

// forget removes a connection; l may be nil. c.mu must be held.
func (c *connections) forget(l *link) {
	if l != nil {
		c.unlink(l)
		delete(c.all, l.conn)
	}
}

// move gives a connection its owner and stage; l is nil if the connection was closed already. c.mu must be held.
func (c *connections) move(l *link, to owner, at stage) {
	if l == nil || l.of.owner == to && l.at == at {
		return
	}
	c.unlink(l)
	c.put(l, to, at)
}

// put adds a connection to the lists of its owner and stage. c.mu must be held.
func (c *connections) put(l *link, of owner, at stage) {
	h := c.owners[of]
	if h == nil {
		h = &holder{owner: of}
		c.owners[of] = h
	}
	l.of, l.at, l.place = h, at, h.links[at].PushBack(l)
	switch at {
	case idle:
		l.queue = c.idle.PushBack(l)
	case answered:
		l.queue = c.answered.PushBack(l)
	}
	c.count(h, 1)
}

// unlink removes a connection from its lists. c.mu must be held.
func (c *connections) unlink(l *link) {
	l.of.links[l.at].Remove(l.place)
	if l.queue != nil {
		c.idle.Remove(l.queue) // does nothing for an element of another list
		c.answered.Remove(l.queue)
		l.queue = nil
	}
	c.count(l.of, -1)
}

// count changes the number of an owner's connections. c.mu must be held.
func (c *connections) count(h *holder, by int) {
	if h.rank != nil {
		c.ranks[h.n].Remove(h.rank)
		h.rank = nil
	}
	h.n += by
	if h.n == 0 {
		delete(c.owners, h.owner)
	} else {
		for len(c.ranks) <= h.n {
			c.ranks = append(c.ranks, list.New())
		}
		h.rank = c.ranks[h.n].PushBack(h)
	}
	for n := len(c.ranks); n > 0 && c.ranks[n-1].Len() == 0; n-- {
		c.ranks = c.ranks[:n-1]
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
	boundUnsent(conn)
	return context.WithValue(ctx, connKey{}, conn)
}

// connOf returns the connection of a request, or nil without an http.Server of HTTPServer.
func connOf(ctx context.Context) net.Conn {
	conn, _ := ctx.Value(connKey{}).(net.Conn)
	return conn
}
