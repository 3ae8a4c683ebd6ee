package httpapi

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections limits the connections of an http.Server, so that the process keeps file descriptors for itself. When
// there are too many, it closes the one that has been idle longest. Without an idle one, it closes the oldest that has
// not sent a request yet, which is the new one when all others are busy.
type connections struct {
	max int

	mu    sync.Mutex // guards below
	all   map[net.Conn]*list.Element
	idle  list.List // connections between two requests, longest first
	fresh list.List // connections that have not sent a request yet, longest first
	busy  list.List // connections that are being served
	home  map[*list.Element]*list.List
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
	c.forget(conn)
	switch state {
	case http.StateNew:
		c.put(conn, &c.fresh)
	case http.StateActive:
		c.put(conn, &c.busy)
	case http.StateIdle:
		c.put(conn, &c.idle)
	}
	if state != http.StateNew || len(c.all) <= c.max {
		return nil
	}
	e := c.idle.Front()
	if e == nil {
		e = c.fresh.Front() // not nil, because conn is in this list
	}
	over = e.Value.(net.Conn)
	c.forget(over)
	return over
}

// put adds a connection to a list. c.mu must be held.
func (c *connections) put(conn net.Conn, in *list.List) {
	if c.all == nil {
		c.all, c.home = map[net.Conn]*list.Element{}, map[*list.Element]*list.List{}
	}
	e := in.PushBack(conn)
	c.all[conn], c.home[e] = e, in
}

// forget removes a connection from its list. c.mu must be held.
func (c *connections) forget(conn net.Conn) {
	e := c.all[conn]
	if e == nil {
		return
	}
	c.home[e].Remove(e)
	delete(c.home, e)
	delete(c.all, conn)
}
