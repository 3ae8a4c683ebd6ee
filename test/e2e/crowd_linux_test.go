package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/model/modeltest"
)

// gauge returns a value from a server's metrics.
func (p *process) gauge(t *testing.T, name string) float64 {
	t.Helper()
	_, body := p.get(t, "/metrics", "")
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("there is no %s", name)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// resident returns the resident memory of a process in KB, without its children.
func (p *process) resident(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(data)
	if m == nil {
		t.Fatal("no memory in its status")
	}
	n, _ := strconv.Atoi(string(m[1])) // digits
	return n
}

// idle opens event streams of a conversation on plain connections, which need little memory in the test.
func (p *process) idle(t *testing.T, id string, last, n int) []net.Conn {
	t.Helper()
	var mu sync.Mutex // guards all
	var all []net.Conn
	var wg sync.WaitGroup
	places := make(chan struct{}, 50)
	for range n {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			all = append(all, c)
			mu.Unlock()
			_, err = fmt.Fprintf(c,
				"GET /api/conversations/%s/events?follow=true HTTP/1.1\r\nHost: localhost\r\nAccept: "+
					"text/event-stream\r\nLast-Event-ID: %d\r\n\r\n", id, last)
			line := make([]byte, 15)
			if err == nil {
				_ = c.SetReadDeadline(time.Now().Add(patience)) // sockets support deadlines
				_, err = c.Read(line)
			}
			if err != nil || !strings.HasPrefix(string(line), "HTTP/1.1 200") {
				t.Errorf("a stream begins with %q, %v", line, err)
			}
		})
	}
	wg.Wait()
	return all
}

// TestIdleStreams checks that thousands of waiting readers cost little memory each, and that users who ask
// meanwhile are answered. FOOTNOTE_IDLE is the number of readers.
func TestIdleStreams(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	p := serve(t, append(settings, "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_LOG_OUTPUT=file")...)
	id := p.answered(t, question{text: "fake: say Hello.", conversation: "watched"}).conversation
	p.answered(t, question{text: "How many orders are there?"})
	took := func() time.Duration {
		begun := time.Now()
		for range 5 {
			p.answered(t, question{text: "fake: say Hello."})
		}
		return time.Since(begun) / 5
	}
	alone, before := took(), p.resident(t)
	n := number(t, "FOOTNOTE_IDLE", 500)
	streams := p.idle(t, id, len(p.log(t, id, "")), n)
	each := float64(p.resident(t)-before) / float64(n)
	t.Logf("%d streams take %.1f KB each; an answer takes %v alone and %v beside them", n, each, alone, took())
	if each > 80 {
		t.Errorf("a stream takes %.1f KB", each)
	}
	r := p.answered(t, question{text: "fake: say Are you there?", conversation: "watched"})
	for i, c := range streams {
		if i%(n/10) > 0 {
			continue
		}
		_ = c.SetReadDeadline(time.Now().Add(patience)) // sockets support deadlines
		found := false
		for lines := bufio.NewScanner(c); !found && lines.Scan(); {
			found = strings.Contains(lines.Text(), "Are you there?")
		}
		if !found {
			t.Errorf("stream %d did not receive the answer", i)
		}
	}
	for _, c := range streams {
		c.Close()
	}
	eventually(t, "the readers are released", func() bool { return p.gauge(t, "footnote_live_readers") == 0 })
	checkLog(t, p.log(t, r.conversation, ""))
	checkSound(t, append(settings, "FOOTNOTE_DATA="+dataOf(p.cmd.Env))...)
}

// TestManyClientsDisconnect checks that when hundreds of clients leave in the middle of their answers, everything they
// held is released, and every run ends.
func TestManyClientsDisconnect(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if strings.Contains(r.LastUserText(), "quickly") {
			return modeltest.Say("There you are.")
		}
		return endless(r)
	})
	settings = append(settings, "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_LOG_OUTPUT=file")
	p := serve(t, settings...)
	p.answered(t, question{text: "Go quickly."})
	base := p.gauge(t, "go_goroutines")
	for round := range 2 {
		n := number(t, "FOOTNOTE_LEAVING", 60)
		ctx, leave := context.WithCancel(t.Context())
		var asked sync.WaitGroup
		for range n {
			asked.Go(func() { p.try(ctx, question{text: "Go slowly.", stream: true}) })
		}
		eventually(t, "the model is answering all", func() bool { return fake.Metrics().Open == int64(n) })
		leave()
		asked.Wait()
		eventually(t, "the model call has ended", func() bool { return fake.Metrics().Open == 0 })
		http.DefaultClient.CloseIdleConnections()
		eventually(t, fmt.Sprint("the goroutines have ended, round ", round), func() bool {
			return p.gauge(t, "go_goroutines") <= base+20
		})
	}
	p.answered(t, question{text: "Go quickly."})
	checkSound(t, settings...)
}

// TestNoFreeFileDescriptors checks that a server without free file descriptors makes new connections wait, logs this,
// and recovers without a restart. The server also has little memory.
func TestNoFreeFileDescriptors(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	settings = append(settings, "FOOTNOTE_DATA="+t.TempDir(), "GOMEMLIMIT=40MiB")
	p := serve(t, settings...)
	id := p.answered(t, question{text: "How many orders are there?", conversation: "few"}).conversation
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: uint64(len(open) + 24), Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = uint64(len(open) + 24)
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	var held []net.Conn
	for range 100 { // the kernel accepts them; the server cannot
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(p.url, "http://"), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if r := p.try(ctx, question{text: "How many orders are there?"}); r.err == nil && r.status == http.StatusOK {
		t.Log("a question was answered all the same")
	}
	for _, c := range held {
		c.Close()
	}
	eventually(t, "questions are answered again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r := p.try(ctx, question{text: "How many orders are there?", conversation: "few"})
		return r.err == nil && r.status == http.StatusOK
	})
	checkLog(t, p.log(t, id, ""))
	checkSound(t, settings...)
}
