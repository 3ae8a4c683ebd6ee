package httpapi

import (
	"io"
	"net"
	"testing"
	"time"
)

// TestRoom writes to a client that does not read, as long as there is room. No write may wait. When the client has read
// everything, there is room again.
func TestRoom(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reader, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := reader.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	writer, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	limitUnsent(writer)

	var r room
	if !r.of(writer) {
		t.Fatal("nothing is known about a TCP connection")
	}
	piece := make([]byte, 100)
	written := 0
	for ; r.takes(len(piece)); written += len(piece) {
		// A deadline that has passed would fail at once, so this one tells a write that waits from one that is slow.
		if err := writer.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(piece); err != nil {
			t.Fatalf("after %d bytes: %v", written, err)
		}
		if written > 64<<20 {
			t.Fatal("there is room without end")
		}
	}
	if r.takes(bytesAtOnce + 1) {
		t.Error("there is room for a very long piece")
	}
	if _, err := io.ReadFull(reader, make([]byte, written)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !r.takes(len(piece)); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the client has read everything, and there is no room")
		}
	}
	if here, _ := net.Pipe(); r.of(here) {
		t.Error("something is known about a pipe")
	}
}
