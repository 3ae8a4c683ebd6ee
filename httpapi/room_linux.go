package httpapi

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// The kernel makes a writer wait when its buffer for the connection is full. It counts each small write as a packet of
// about 1.3 KB until the client has acknowledged it, and the buffer has at least 46 KB. So there is room for some
// writes whenever little is unacknowledged.
const (
	fewUnacknowledged = 2 << 10 // bytes: at most 20 pieces of a typical answer
	piecesAtOnce      = 8       // written without asking the kernel again
	bytesAtOnce       = 4 << 10
)

// room knows whether a connection takes bytes without making the writer wait.
type room struct {
	conn          syscall.RawConn
	pieces, bytes int // that can be written before asking the kernel
}

// of sets the connection. It reports whether anything is known about it.
func (r *room) of(conn net.Conn) bool {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return false
	}
	var err error
	r.conn, err = tcp.SyscallConn()
	return err == nil
}

// takes reports whether n more bytes can be written at once.
func (r *room) takes(n int) bool {
	if r.pieces == 0 || r.bytes < n {
		if n > bytesAtOnce || !r.empty() {
			return false
		}
		r.pieces, r.bytes = piecesAtOnce, bytesAtOnce
	}
	r.pieces, r.bytes = r.pieces-1, r.bytes-n
	return true
}

// empty reports whether the client has acknowledged almost everything.
func (r *room) empty() bool {
	unacknowledged := fewUnacknowledged + 1
	err := r.conn.Control(func(fd uintptr) {
		if n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); err == nil {
			unacknowledged = n
		}
	})
	return err == nil && unacknowledged <= fewUnacknowledged
}
