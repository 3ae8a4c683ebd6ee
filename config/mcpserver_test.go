package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/config"
)

func TestMCPServers(t *testing.T) {
	c, err := config.Load(file(t, `
mcp_servers:
  files: {command: [npx, files, /srv], environment: {TOKEN: "${SECRET}-x"}, allow: ["read_*"], timeouts: {export: 2m}}
  tickets:
    url: https://tickets.example/mcp
    headers: {Authorization: "Bearer ${SECRET}"}
    assistants: [coder]
  pay: {url: "https://pay.example/mcp", oauth: {issuer: "https://id.example", client_id: a, client_secret: "${SECRET}"}}
`), []string{"SECRET=hunter2"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, tickets, pay := c.MCPServers["files"], c.MCPServers["tickets"], c.MCPServers["pay"]
	if string(files.Environment["TOKEN"]) != "hunter2-x" || files.Timeouts["export"] != 2*time.Minute ||
		files.Timeout != 30*time.Second || files.MaxOutput != 50_000 || len(files.Assistants) != 2 {
		t.Errorf("files: %+v", files)
	}
	if string(tickets.Headers["Authorization"]) != "Bearer hunter2" || len(tickets.Assistants) != 1 {
		t.Errorf("tickets: %+v", tickets)
	}
	if string(pay.OAuth.ClientSecret) != "hunter2" {
		t.Errorf("pay: %+v", pay)
	}
}

// TestInvalidMCPServers checks that invalid settings are refused, in words that hold no secret.
func TestInvalidMCPServers(t *testing.T) {
	for text, want := range map[string]string{
		`{a: {}}`:                               "mcp_servers.a needs either command or url",
		`{a: {command: [x], url: "http://x/"}}`: "either command or url",
		`{a_b: {command: [x]}}`:                 "letters",
		`{a: {command: [x], headers: {A: b}}}`:  "headers and oauth do not apply",
		`{a: {url: "http://x/", folder: /tmp}}`: "environment and folder do not apply",
		`{a: {url: "ftp://x/"}}`:                ".url is",
		`{a: {url: "https://u:hunter2@x/"}}`:    "without a password",
		`{a: {url: "http://x.example/", headers: {Authorization: hunter2}}}`: "https",
		`{a: {url: "https://x/", oauth: {client_id: a}}}`:                    "needs client_id",
		`{a: {command: [x], timeout: 1h}}`:                                   "run_timeout",
		`{a: {command: [x], timeouts: {t: 0s}}}`:                             "timeouts.t",
		`{a: {command: [x], max_output: 5}}`:                                 "max_output",
		`{a: {command: [x], assistants: [explore]}}`:                         "analyst, coder",
		`{a: {command: [x], allow: ["["]}}`:                                  "not a name or glob",
		`{a: {command: [x], environment: {A: "${NOT_THERE}"}}}`:              "${NOT_THERE}",
		`{a: {command: [x], environment: {A: "hunter2\nB=c"}}}`:              "line break",
		`{a: {command: [x], comand: [y]}}`:                                   "mcp_servers.a.comand",
	} {
		_, err := config.Load(file(t, "mcp_servers: "+text), nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
