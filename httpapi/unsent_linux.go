package httpapi

import (
	"net"

	"golang.org/x/sys/unix"
)

// boundUnsent limits what the kernel keeps of a connection and has not sent. It does so without SetWriteBuffer, which
// would also limit what is under way to a distant client, and so how fast that can read.
func boundUnsent(conn net.Conn) {
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
