package sqlserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/footnotehq/footnote/source/warehouse/warehousetest"
)

// The types of packets.
const (
	batchPacket     = 1
	replyPacket     = 4
	attentionPacket = 6
	loginPacket     = 16
	preloginPacket  = 18
)

// server imitates SQL Server: it speaks the part of TDS 7.4 that this package needs, as [MS-TDS] describes it, and
// refuses everything else. It runs no SQL. Answer returns what a statement returns.
type server struct {
	refuse  func(format string, args ...any)
	answer  func(sql string) result
	encrypt *tls.Config // nil: the server cannot encrypt
	route   string      // a host to which logins are sent
	silent  bool        // it never answers a prelogin

	mu      sync.Mutex // guards below
	logins  int
	batches []string
	stopped int // attentions while a statement ran
	open    int // transactions
}

// result has the columns and rows that a statement returns.
type result struct {
	columns []column
	rows    [][][]byte // of encoded cells
	failure *failure
	stop    func() // not nil: the statement runs until it is stopped
}

type column struct {
	name string
	info []byte // TYPE_INFO
}

type failure struct {
	number  int32
	class   byte
	message string
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *server) get(what *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *what
}

// listen starts the server, which ends with the test, and returns its host and port.
func (s *server) listen(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { conn.Close() })
			wg.Go(func() {
				defer conn.Close()
				(&session{server: s, conn: conn}).serve()
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// session is one connection.
type session struct {
	*server
	conn    net.Conn
	begun   bool // the settings were made, and a transaction is open
	packets chan message
}

type message struct {
	kind  byte
	reset bool
	data  []byte
}

// read reads a message of one or more packets.
func read(r io.Reader) (m message, err error) {
	for {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return m, err
		}
		body := make([]byte, int(binary.BigEndian.Uint16(head[2:]))-len(head))
		if _, err := io.ReadFull(r, body); err != nil {
			return m, err
		}
		m.kind, m.reset = head[0], m.reset || head[1]&8 != 0
		m.data = append(m.data, body...)
		if head[1]&1 != 0 {
			return m, nil
		}
	}
}

// write writes a message in packets of at most 4096 bytes.
func write(w io.Writer, kind byte, data []byte) error { return writePart(w, kind, data, 1) }

// writePart writes packets. The status of the last one is 1 if it ends the message, or else 0.
func writePart(w io.Writer, kind byte, data []byte, status byte) error {
	const most = 4096 - 8
	for {
		part := data[:min(most, len(data))]
		data = data[len(part):]
		last := byte(0)
		if len(data) == 0 {
			last = status
		}
		head := []byte{kind, last, 0, 0, 0, 0, 1, 0}
		binary.BigEndian.PutUint16(head[2:], uint16(len(part)+len(head)))
		if _, err := w.Write(append(head, part...)); err != nil || len(data) == 0 {
			return err
		}
	}
}

func (s *session) serve() {
	if !s.prelogin() || !s.login() {
		return
	}
	s.packets = make(chan message)
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(s.packets)
		for {
			m, err := read(s.conn)
			if err != nil {
				return
			}
			select {
			case s.packets <- m:
			case <-done:
				return
			}
		}
	}()
	defer s.rolledBack()
	for m := range s.packets {
		var reply []byte
		switch m.kind {
		case batchPacket:
			reply = s.batch(m)
		case attentionPacket:
			reply = doneToken(0x20)
		default:
			s.refuse("a packet of type %d", m.kind)
			return
		}
		if write(s.conn, replyPacket, reply) != nil {
			return
		}
	}
}

// prelogin negotiates encryption. The handshake is wrapped in packets.
func (s *session) prelogin() bool {
	m, err := read(s.conn)
	if err != nil || m.kind != preloginPacket {
		return false
	}
	if s.silent {
		_, _ = io.Copy(io.Discard, s.conn)
		return false
	}
	asked, ok := preloginOption(m.data, 1)
	if !ok {
		s.refuse("a prelogin without encryption")
		return false
	}
	offer := byte(2) // not supported
	if s.encrypt != nil && asked != 2 {
		offer = 1
	}
	options := []byte{0, 0, 16, 0, 6, 1, 0, 22, 0, 1, 4, 0, 23, 0, 1, 0xff, 16, 0, 0x10, 0, 0, 0, offer, 0}
	if write(s.conn, replyPacket, options) != nil || offer == 2 {
		return err == nil
	}
	wrapped := &handshake{Conn: s.conn, wrap: true}
	secure := tls.Server(wrapped, s.encrypt)
	if secure.Handshake() != nil {
		return false
	}
	wrapped.wrap = false
	s.conn = secure
	return true
}

func preloginOption(data []byte, token byte) (byte, bool) {
	for i := 0; i+5 <= len(data) && data[i] != 0xff; i += 5 {
		if at := int(binary.BigEndian.Uint16(data[i+1:])); data[i] == token && at < len(data) {
			return data[at], true
		}
	}
	return 0, false
}

// handshake wraps what is written in packets, and unwraps what is read, until the handshake is done.
type handshake struct {
	net.Conn
	wrap bool
	rest bytes.Reader
}

func (h *handshake) Read(p []byte) (int, error) {
	if !h.wrap {
		return h.Conn.Read(p)
	}
	if h.rest.Len() == 0 {
		m, err := read(h.Conn)
		if err != nil {
			return 0, err
		}
		h.rest.Reset(m.data)
	}
	return h.rest.Read(p)
}

func (h *handshake) Write(p []byte) (int, error) {
	if !h.wrap {
		return h.Conn.Write(p)
	}
	return len(p), write(h.Conn, preloginPacket, p)
}

// login checks a login record.
func (s *session) login() bool {
	m, err := read(s.conn)
	if err != nil {
		return false
	}
	if m.kind != loginPacket || len(m.data) < 94 {
		s.refuse("a login of type %d with %d bytes", m.kind, len(m.data))
		return false
	}
	field := func(at int) string {
		from, n := binary.LittleEndian.Uint16(m.data[at:]), binary.LittleEndian.Uint16(m.data[at+2:])
		return ucs2(m.data[from : int(from)+2*int(n)])
	}
	hidden := bytes.Clone(m.data)
	from, n := binary.LittleEndian.Uint16(m.data[44:]), binary.LittleEndian.Uint16(m.data[46:])
	for i := int(from); i < int(from)+2*int(n); i++ {
		b := hidden[i] ^ 0xa5
		hidden[i] = b<<4 | b>>4
	}
	password := ucs2(hidden[from : int(from)+2*int(n)])
	s.set(func() { s.logins++ })
	if version := binary.LittleEndian.Uint32(m.data[4:]); version != 0x74000004 || m.data[26]&0x20 == 0 ||
		m.data[25]&0x80 != 0 || field(48) != "footnote" {
		s.refuse("a login of version %x with the flags %x %x from %s", version, m.data[25], m.data[26], field(48))
	}
	var reply []byte
	switch {
	case field(40) != "reader" || password != "hush":
		reply = fail(failure{18456, 14, "Login failed for user '" + field(40) + "' with " + password + "."})
	case s.route != "":
		reply = append(loginAck(), environment(20, routing(s.route), []byte{0, 0})...)
		reply = append(reply, doneToken(0)...)
	default:
		reply = append(environment(1, short(field(68)), short("master")), loginAck()...)
		reply = append(reply, doneToken(0)...)
	}
	return write(s.conn, replyPacket, reply) == nil && s.route == ""
}

// rolledBack ends the transaction, if there is one.
func (s *session) rolledBack() {
	if s.begun {
		s.begun = false
		s.set(func() { s.server.open-- })
	}
}

// batch runs a statement. The settings come first after a reset, and everything else is in a transaction.
func (s *session) batch(m message) []byte {
	text := ucs2(m.data[binary.LittleEndian.Uint32(m.data):])
	switch {
	case strings.HasPrefix(text, "SET NOCOUNT ON;") && strings.HasSuffix(text, "; BEGIN TRANSACTION"):
		if !m.reset {
			s.refuse("settings without a reset")
		}
		s.rolledBack()
		s.begun = true
		s.set(func() { s.server.open++ })
		return append(environment(8, []byte{8, 1, 0, 0, 0, 0, 0, 0, 0}, []byte{0}), doneToken(0)...)
	case text == rollback:
		s.rolledBack()
		return append(environment(10, []byte{0}, []byte{8, 1, 0, 0, 0, 0, 0, 0, 0}), doneToken(0)...)
	case m.reset || !s.begun:
		s.refuse("a statement without settings and a transaction: %s", text)
	}
	s.set(func() { s.batches = append(s.batches, text) })
	r := s.answer(text)
	if r.failure != nil {
		return fail(*r.failure)
	}
	reply := metadata(r.columns)
	for _, row := range r.rows {
		reply = append(reply, 0xd1)
		for _, c := range row {
			reply = append(reply, c...)
		}
	}
	if r.stop == nil {
		return append(reply, doneToken(0x10)...)
	}
	if writePart(s.conn, replyPacket, reply, 0) != nil { // more follows
		return nil
	}
	next, ok := <-s.packets
	if ok && next.kind != attentionPacket {
		s.refuse("a packet of type %d while a statement runs", next.kind)
	}
	r.stop()
	s.set(func() { s.stopped++ })
	return doneToken(0x20)
}

// The parts of replies.

func doneToken(status uint16) []byte {
	return append([]byte{0xfd, byte(status), byte(status >> 8)}, make([]byte, 10)...)
}

func fail(f failure) []byte {
	body := binary.LittleEndian.AppendUint32(nil, uint32(f.number))
	body = append(body, 1, f.class)
	body = binary.LittleEndian.AppendUint16(body, uint16(len(utf16.Encode([]rune(f.message)))))
	body = append(body, wide(f.message)...)
	body = append(body, 0, 0, 1, 0, 0, 0)
	return append(token(0xaa, body), doneToken(2)...)
}

func token(kind byte, body []byte) []byte {
	return append(binary.LittleEndian.AppendUint16([]byte{kind}, uint16(len(body))), body...)
}

func environment(kind byte, now, before []byte) []byte {
	return token(0xe3, append(append([]byte{kind}, now...), before...))
}

func routing(host string) []byte {
	body := append([]byte{0, 0x99, 0x05}, binary.LittleEndian.AppendUint16(nil, uint16(len(host)))...)
	body = append(body, wide(host)...)
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(body))), body...)
}

func loginAck() []byte {
	body := append([]byte{1, 0x74, 0, 0, 4}, short("Imitation")...)
	return token(0xad, append(body, 16, 0, 0, 0))
}

func metadata(columns []column) []byte {
	out := binary.LittleEndian.AppendUint16([]byte{0x81}, uint16(len(columns)))
	for _, c := range columns {
		out = append(out, 0, 0, 0, 0, 1, 0)
		out = append(append(out, c.info...), short(c.name)...)
	}
	return out
}

func short(s string) []byte { return append([]byte{byte(len(wide(s)) / 2)}, wide(s)...) }

func wide(s string) (out []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return out
}

func ucs2(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// The types of columns, and their cells.
var (
	integerInfo = []byte{0x26, 8}
	decimalInfo = []byte{0x6a, 17, 38, 2}
	textInfo    = []byte{0xe7, 0xff, 0xff, 9, 4, 0xd0, 0, 0x34} // nvarchar(max)
	dateInfo    = []byte{0x28}
	momentInfo  = []byte{0x2a, 7}
)

// longCell is a cell of a type with (max).
func longCell(b []byte) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
	if len(b) > 0 {
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(b))), b...)
	}
	return append(out, 0, 0, 0, 0)
}

func textCell(s string) []byte { return longCell(wide(s)) }

var nullText = bytes.Repeat([]byte{0xff}, 8)

func days(t time.Time) []byte {
	n := uint32(t.Unix()/86400 + 719162)
	return []byte{byte(n), byte(n >> 8), byte(n >> 16)}
}

// units is a time of the day in units of 100 ns.
func units(t time.Time) []byte {
	n := uint64(t.Sub(t.Truncate(24*time.Hour)) / 100)
	return binary.LittleEndian.AppendUint64(nil, n)[:5]
}

// cellOf encodes a value of a fake.
func cellOf(t testing.TB, typ, value string) []byte {
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	switch typ {
	case "integer":
		n, ok := bigOf(value)
		if !ok {
			check(errors.New(value))
		}
		return append([]byte{8}, binary.LittleEndian.AppendUint64(nil, n.Uint64())...)
	case "decimal":
		n, ok := bigOf(strings.ReplaceAll(value, ".", ""))
		if !ok {
			check(errors.New(value))
		}
		b := n.FillBytes(make([]byte, 16))
		for i := range 8 {
			b[i], b[15-i] = b[15-i], b[i]
		}
		return append([]byte{17, 1}, b...)
	case "date":
		d, err := time.Parse(time.DateOnly, value)
		check(err)
		return append([]byte{3}, days(d)...)
	case "timestamp":
		at, err := time.Parse("2006-01-02T15:04:05", value)
		check(err)
		return append(append([]byte{8}, units(at)...), days(at)...)
	}
	return textCell(value)
}

// serveFake answers with a fake's rows.
func serveFake(t *testing.T, f *warehousetest.Fake) string {
	infos := map[string][]byte{
		"integer": integerInfo, "decimal": decimalInfo, "text": textInfo, "date": dateInfo, "timestamp": momentInfo,
	}
	s := &server{refuse: f.Refuse, answer: func(sql string) (r result) {
		st := f.Start("", sql)
		if sql == rights {
			st.Fault, st.Names, st.Types = "", []string{"excess"}, []string{"text"}
			for _, row := range f.Excess() {
				st.Rows = append(st.Rows, []any{row[0]})
			}
		}
		switch st.Fault {
		case "denied":
			r.failure = &failure{229, 14, "The DELETE permission was denied on the object 'orders'."}
		case "wrong":
			r.failure = &failure{207, 16, "Invalid column name 'total'."}
		}
		for i, n := range st.Names {
			r.columns = append(r.columns, column{n, infos[st.Types[i]]})
		}
		for _, row := range st.Rows {
			cells := make([][]byte, len(row))
			for i, v := range row {
				if text, ok := v.(string); ok {
					cells[i] = cellOf(t, st.Types[i], text)
				} else {
					cells[i] = nullText
				}
			}
			r.rows = append(r.rows, cells)
		}
		if st.Running {
			r.columns = []column{{"n", integerInfo}}
			r.stop = func() { f.Stop(st.ID) }
		}
		return r
	}}
	return s.listen(t)
}
