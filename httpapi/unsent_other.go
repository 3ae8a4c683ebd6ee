//go:build !linux

package httpapi

import "net"

// boundUnsent limits what the kernel keeps of a connection and has not sent, together with what is under way.
func boundUnsent(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(paceBytes) // fails only on a closed connection
	}
}
