package app

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/doctor"
)

// TestRemoteHosts checks which addresses doctor takes for this machine's.
func TestRemoteHosts(t *testing.T) {
	for _, name := range []string{"PGHOST", "PGSERVICE", "PGSERVICEFILE"} {
		t.Setenv(name, "")
	}
	for address, want := range map[string]string{
		"shop.db": "", "sqlite:shop.db": "", "": "",
		"postgres://u@127.0.0.1/x": "", "postgres://u@127.8.9.1:99/x": "", "postgres://u@[::1]/x": "",
		"postgres://u@[::ffff:127.0.0.1]/x": "", "postgres:///x?host=/run/pg": "", "postgres://u@localhost/x": "",
		"postgres://u@10.0.0.1/x": "10.0.0.1", "postgres://u@0.0.0.0/x": "0.0.0.0",
		"postgres://u@localhost.example/x":                 "localhost.example",
		"postgres://u@/x?host=db.example":                  "db.example",
		"postgres://u@127.0.0.1,a.example:1,b.example:2/x": "a.example b.example",
		"postgres://u@127.0.0.1/x?host=db.example":         "db.example", "postgres://u@2130706433/x": "2130706433",
		"postgresql://u@@db.example/x":   "@db.example",
		"redis://127.0.0.1:6379/0":       "",
		"redis://localhost":              "",
		"unix:///run/redis.sock":         "",
		"rediss://u:p@cache.example/0":   "cache.example",
		"redis://[fd00::2]:6379":         "fd00::2",
		"redis://127.0.0.1.example:6379": "127.0.0.1.example",
	} {
		if got := strings.Join(remoteHosts(t, address), " "); got != want {
			t.Errorf("remoteHosts(%q) = %q, want %q", address, got, want)
		}
	}
	t.Setenv("PGHOST", "env.example")
	if got := remoteHosts(t, "postgres:///x"); len(got) != 1 || got[0] != "env.example" {
		t.Errorf("with PGHOST: %q", got)
	}
}

// remoteHosts returns the hosts for which doctor skips an address.
func remoteHosts(t *testing.T, address string) []string {
	t.Helper()
	r := doctor.Report{Hosts: hostsOf}
	if !r.Skips(t.Context(), "it", address, "") {
		return nil
	}
	hosts, _, _ := strings.Cut(strings.TrimPrefix(r.Checks[0].Detail, "at "), ": not checked")
	return strings.Split(hosts, ", ")
}
