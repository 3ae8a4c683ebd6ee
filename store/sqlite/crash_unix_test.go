//go:build unix

package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// childEnv makes the test binary a child process that only appends until its parent kills it.
const childEnv = "FOOTNOTE_TEST_APPEND_TO"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if err := appendForever(path, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const crashWriters = 8

// appendForever appends to eight streams concurrently, and writes the stream and sequence of each acknowledged append
// to out. It returns only on an error.
func appendForever(path string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards out and failed
	var failed error
	var wg sync.WaitGroup
	fmt.Fprintln(out, "open")
	for i := range crashWriters {
		wg.Go(func() {
			err := appendLoop(ctx, s, fmt.Sprint("c", i), func(id string, seq int64) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintln(out, id, seq)
			})
			mu.Lock()
			defer mu.Unlock()
			failed = err
			cancel()
		})
	}
	wg.Wait()
	return failed
}

func appendLoop(ctx context.Context, s *Store, id string, acknowledged func(id string, seq int64)) error {
	h, err := s.Get(ctx, id)
	if footnote.CodeOf(err) == footnote.NotFound {
		err = s.Create(ctx, store.Stream{ID: id, Kind: store.Conversation})
	}
	if err != nil {
		return err
	}
	blob := []byte(strings.Repeat(id, 1000))
	a := store.Append{Stream: id, Run: "r",
		Bodies: []footnote.Body{footnote.RunStarted{}, footnote.UserMessage{Text: strings.Repeat("x", 500)}},
		Blobs:  map[footnote.Digest][]byte{footnote.DigestOf(blob): blob}}
	var token int64
	for a.After = h.Last; ; a.After += 2 {
		if a.Lease = token; token == 0 {
			a.Take = &footnote.Take{Owner: fmt.Sprint(os.Getpid()), TTL: time.Hour}
		}
		events, err := s.Append(ctx, a)
		if err != nil {
			return err
		}
		if token == 0 {
			token, a.Take = events[0].Seq, nil
		}
		acknowledged(id, events[1].Seq)
	}
}

// TestKill kills a process with kill -9 while it appends, repeatedly on one data file. FOOTNOTE_CRASH_ROUNDS sets the
// number of kills.
func TestKill(t *testing.T) {
	rounds := 20
	if v := os.Getenv("FOOTNOTE_CRASH_ROUNDS"); v != "" {
		var err error
		if rounds, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "footnote.db")
	total := 0
	for range rounds {
		acked := killOnce(t, path)
		total = checkAfterKill(t, path, acked)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills; of the %d events acknowledged none is lost", rounds, total)
}

// killOnce kills a child at a random moment and returns the last acknowledged sequence of each stream.
func killOnce(t *testing.T, path string) map[string]int64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked := map[string]int64{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "open" { // the first line
			kill := time.AfterFunc(time.Duration(rand.IntN(120))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
			continue
		}
		var id string
		var seq int64
		if _, err := fmt.Sscan(lines.Text(), &id, &seq); err != nil {
			continue // the kill cut the line
		}
		acked[id] = seq
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return acked
}

// checkAfterKill reopens the file at once and checks that no acknowledged event is missing. It returns their number.
func checkAfterKill(t *testing.T, path string, acked map[string]int64) (total int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for id, seq := range acked {
		total += int(seq)
		var n int64
		for ev, err := range s.Events(ctx, id, 0) {
			if n++; err != nil || ev.Seq != n {
				t.Fatalf("%s event %d has seq %d: %v", id, n, ev.Seq, err)
			}
		}
		h, err := s.Get(ctx, id)
		if err != nil || h.Last != n || n < seq || n%2 != 0 {
			t.Fatalf("%s has %d events and last %d; %d were acknowledged: %v", id, n, h.Last, seq, err)
		}
		blob := footnote.DigestOf([]byte(strings.Repeat(id, 1000)))
		if _, err := s.Blob(ctx, id, blob); err != nil {
			t.Fatal(err)
		}
	}
	heads, err := s.Unfinished(ctx, time.Now(), 100)
	if err != nil || len(heads) < len(acked) {
		t.Fatalf("%d runs can be taken over at once, want %d: %v", len(heads), len(acked), err)
	}
	checkIntegrity(t, s)
	return total
}

func checkIntegrity(t *testing.T, s *Store) {
	t.Helper()
	var words string
	if err := s.read.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&words); err != nil || words != "ok" {
		t.Fatalf("integrity_check: %s, %v", words, err)
	}
	var lost int
	if err := s.read.QueryRowContext(t.Context(),
		`SELECT (SELECT count(*) FROM events WHERE stream NOT IN (SELECT n FROM streams))
		+ (SELECT count(*) FROM blob_refs WHERE blob NOT IN (SELECT n FROM blobs) OR stream NOT IN (SELECT n FROM streams))
		+ (SELECT count(*) FROM blobs WHERE n NOT IN (SELECT blob FROM blob_refs))`).Scan(&lost); err != nil ||
		lost != 0 {
		t.Fatalf("%d rows belong to no stream: %v", lost, err)
	}
}

// TestOtherProcess checks that the data file cannot be opened while a child process has it open.
func TestOtherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "footnote.db")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open\n" {
		t.Fatalf("the child says %q: %v", line, err)
	}
	_, err = Open(t.Context(), path, Options{})
	if footnote.CodeOf(err) != footnote.StorageUnavailable ||
		!strings.Contains(footnote.MessageOf(err), fmt.Sprint("process ", cmd.Process.Pid)) {
		t.Errorf("open of a file in use: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatalf("open after the holder died: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
