package httpapi

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections bounds the connections of an http.Server, so that the process always
// has files left for itself. Where there are too many, the one that has been silent
// longest is closed: one between two requests, or else one whose first request has not
// come. When all others are busy, that is the new one.
type connections struct {
	max int

	mu   sync.Mutex // guards below
	all  map[net.Conn]*list.Element
	idle list.List // of net.Conn, longest first: between two requests
	mute list.List // of net.Conn, longest first: no request has come yet
	busy list.List
	home map[*list.Element]*list.List
}

// changed is the ConnState of an http.Server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if over := c.note(conn, state); over != nil {
		_ = over.Close() // its state changes to closed when the server notices
	}
}

// note takes a change of state into account and returns the connection to close, or
// nil.
func (c *connections) note(conn net.Conn, state http.ConnState) (over net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(conn)
	switch state {
	case http.StateNew:
		c.put(conn, &c.mute)
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
		e = c.mute.Front() // conn is among them
	}
	over = e.Value.(net.Conn)
	c.forget(over)
	return over
}

// put notes a connection in a list; c.mu must be held.
func (c *connections) put(conn net.Conn, in *list.List) {
	if c.all == nil {
		c.all, c.home = map[net.Conn]*list.Element{}, map[*list.Element]*list.List{}
	}
	e := in.PushBack(conn)
	c.all[conn], c.home[e] = e, in
}

// forget takes a connection out of its list; c.mu must be held.
func (c *connections) forget(conn net.Conn) {
	e := c.all[conn]
	if e == nil {
		return
	}
	c.home[e].Remove(e)
	delete(c.home, e)
	delete(c.all, conn)
}
