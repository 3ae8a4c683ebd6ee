package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/footnotehq/footnote/model/modeltest"
)

// TestDoctorSendsNothingOffline checks that doctor, without --online, sends nothing to the model's server, the
// token issuer or a trace collector, and reports that.
func TestDoctorSendsNothingOffline(t *testing.T) {
	t.Chdir(t.TempDir())
	var asked atomic.Int64
	model := modeltest.New(modeltest.Options{}).Start(t)
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"keys":[]}`))
	}))
	defer issuer.Close()
	counted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, model+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer counted.Close()
	set := []string{"--set", "model_key=k", "--set", "base_url=" + counted.URL, "--set",
		"auth.jwt.issuer=https://issuer.example",
		"--set", "auth.jwt.audience=a", "--set", "auth.jwt.keys=" + issuer.URL, "--set",
		"traces.endpoint=" + counted.URL}
	for _, upstream := range []string{"compatible", "anthropic"} {
		args := append([]string{"doctor", "--set", "upstream=" + upstream}, set...)
		text := command(t, 0, args...)
		if n := asked.Load(); n != 0 {
			t.Errorf("%s: %d requests without --online:\n%s", upstream, n, text)
		}
		for _, want := range []string{
			"model ", counted.URL, "tokens ", issuer.URL, "traces ", "not asked", "--online",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: it does not say %q:\n%s", upstream, want, text)
			}
		}
	}
	if text := command(t, 1, append([]string{"doctor", "--online"}, set...)...); asked.Load() < 2 ||
		strings.Contains(text, "not asked") {
		t.Errorf("with --online %d requests:\n%s", asked.Load(), text)
	}
}

// TestDoctorOpensTheStore checks that doctor reports a store that the server could not open, or would open as a new
// one.
func TestDoctorOpensTheStore(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(data, "footnote.db")
	doctor := func(want int, words string) {
		t.Helper()
		text := command(t, want, "doctor", "--data", data)
		if _, line, _ := strings.Cut(text, "\nstore "); !strings.Contains(strings.SplitN(line, "\n", 2)[0], words) {
			t.Errorf("it does not say %q of the store:\n%s", words, text)
		}
	}
	doctor(0, "does not exist yet")
	command(t, 0, "migrate", "--data", data)
	doctor(0, "ok ")
	for size, words := range map[int64]string{0: "is empty", 100: "is damaged", 8192: "is damaged"} {
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
		doctor(1, words)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		command(t, 0, "migrate", "--data", data)
	}
}

// TestDoctorNamesTheProvider checks that doctor reports a key without an address with the provider's address, which is
// the default, and does not use the key.
func TestDoctorNamesTheProvider(t *testing.T) {
	t.Chdir(t.TempDir())
	text := command(t, 0, "doctor", "--set", "model_key=k")
	if !strings.Contains(text, "https://api.anthropic.com") || !strings.Contains(text, "not asked") {
		t.Errorf("doctor:\n%s", text)
	}
}

// TestDoctorStaysOnThisMachine checks that doctor, without --online, connects to no other machine's database and looks
// up no name but localhost, and reports what it left out.
func TestDoctorStaysOnThisMachine(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"PGHOST", "PGSERVICE", "PGSERVICEFILE"} {
		t.Setenv(name, "")
	}
	var mu sync.Mutex
	var lookups []string
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true,
		Dial: func(_ context.Context, _, server string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			lookups = append(lookups, server)
			return nil, errors.New("no look-ups here")
		}}
	accepted, port := otherAddress(t)
	args := []string{"doctor", "--log", "--store", "postgres://u:hush@db.example/footnote", "--set",
		"redis=redis://cache.example:6379",
		"--set", "market.store=postgres://127.0.0.1,db2.example/market", "--source",
		"shop=postgres://u:hush@" + port + "/shop",
		"--source", "several=postgres://[::1]:1,192.0.2.7:5432/shop"}
	text := command(t, 0, args...)
	for _, want := range []string{`store +skip +at db\.example: not checked; doctor --online checks it`,
		`log +skip +at db\.example`,
		`api keys +skip +0 in the configuration; those in the store at db\.example`, `cache +skip +at cache\.example:`,
		`market +skip +at db2\.example:`, `source shop +skip +at [0-9a-f.:]+: not checked`,
		`source several +skip +at 192\.0\.2\.7:`} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(text) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(lookups) > 0 || accepted.Load() > 0 || strings.Contains(text, "hush") {
		t.Errorf("%d look-ups, %d connections:\n%s", len(lookups), accepted.Load(), text)
	}
}

// otherAddress listens on an address of this machine that is not a loopback address, and counts the connections. Where
// there is none, it returns one that nobody has.
func otherAddress(t *testing.T) (*atomic.Int64, string) {
	t.Helper()
	var accepted atomic.Int64
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() || ip.IP.To4() == nil {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(ip.IP.String(), "0"))
		if err != nil {
			continue
		}
		done := make(chan struct{})
		t.Cleanup(func() { listener.Close(); <-done })
		go func() {
			defer close(done)
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				accepted.Add(1)
				c.Close()
			}
		}()
		return &accepted, listener.Addr().String()
	}
	return &accepted, "192.0.2.9:5432"
}
