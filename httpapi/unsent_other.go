//go:build !linux

package httpapi

import "net"

// limitUnsent limits the bytes of a connection that the kernel has accepted, both unsent and in flight.
func limitUnsent(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(paceBytes) // fails only on a closed connection
	}
}
