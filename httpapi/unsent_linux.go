package httpapi

import (
	"net"

	"golang.org/x/sys/unix"
)

// limitUnsent limits the bytes of a connection that the kernel has accepted and not sent. It does not use
// SetWriteBuffer, which would also limit the bytes in flight to a distant client, and so its speed.
func limitUnsent(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return // it is closed
	}
	_ = raw.Control(func(fd uintptr) { // fails only on a closed connection
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, paceBytes)
	})
}
