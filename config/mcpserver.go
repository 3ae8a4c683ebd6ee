package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/internal/token"
)

// MCPServer configures an MCP server whose tools assistants may use: a program with Command, or an endpoint with URL.
// Values of Environment and Headers, and the client secret, may contain ${NAME}, which stands for a variable of
// Footnote's environment.
type MCPServer struct {
	Command     []string          `yaml:"command"`     // program and arguments
	Environment map[string]Secret `yaml:"environment"` // variables for the program
	Folder      string            `yaml:"folder"`      // its working directory; empty: a temporary one

	URL     string            `yaml:"url"`
	Headers map[string]Secret `yaml:"headers"` // of each request
	OAuth   MCPOAuth          `yaml:"oauth"`

	Assistants []string `yaml:"assistants"` // names; empty: analyst and coder
	Allow      []string `yaml:"allow"`      // the server's tools, by name or glob; empty: all
	Deny       []string `yaml:"deny"`       // wins over Allow
	Ask        []string `yaml:"ask"`        // tools that need approval although the server says that they only read

	Timeout   time.Duration            `yaml:"timeout"`    // of a call; 0: 30s
	Timeouts  map[string]time.Duration `yaml:"timeouts"`   // by the server's name of a tool
	MaxOutput int                      `yaml:"max_output"` // bytes of a result that the model reads; 0: 50000
}

// MCPOAuth holds credentials with which Footnote gets tokens for itself from Issuer (client credentials).
type MCPOAuth struct {
	Issuer       string `yaml:"issuer"`
	ClientID     string `yaml:"client_id"`
	ClientSecret Secret `yaml:"client_secret"`
}

var (
	mcpServerName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$`)
	mcpVariable   = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
	mcpAssistants = []string{"analyst", "coder"}
)

// checkMCPServers rejects invalid settings of MCP servers.
func (c Config) checkMCPServers() error {
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		if !mcpServerName.MatchString(name) {
			return fmt.Errorf("mcp_servers has the name %q; it must be 1 to 32 letters, digits and inner -", name)
		}
		if err := c.MCPServers[name].check(c.RunTimeout); err != nil {
			return fmt.Errorf("mcp_servers.%s%w", name, err)
		}
	}
	return nil
}

func (s MCPServer) check(longest time.Duration) error {
	err := s.checkProgram()
	if s.URL != "" && err == nil {
		err = s.checkEndpoint()
	}
	return cmp.Or(err, s.checkLimits(longest), s.checkLists())
}

func (s MCPServer) checkProgram() error {
	program := len(s.Command) > 0
	switch {
	case program == (s.URL != ""):
		return errors.New(" needs either command or url")
	case program && (len(s.Headers) > 0 || s.OAuth != MCPOAuth{}):
		return errors.New(" has a command, so headers and oauth do not apply: use environment")
	case !program && (len(s.Environment) > 0 || s.Folder != ""):
		return errors.New(" has a url, so environment and folder do not apply: use headers or oauth")
	case program && s.Command[0] == "":
		return errors.New(".command has no program")
	}
	return nil
}

func (s MCPServer) checkEndpoint() error {
	o := s.OAuth
	switch {
	case !webAddress(s.URL) || withoutUser(s.URL) != s.URL:
		return fmt.Errorf(".url is %q; it must look like https://tools.example.com/mcp, without a password",
			withoutUser(s.URL))
	case !token.Safe(s.URL) && (len(s.Headers) > 0 || o != MCPOAuth{}):
		return fmt.Errorf(".url is %q; with headers or oauth it must be https, or on this machine, so that nobody on "+
			"the way reads the credentials", s.URL)
	case o != MCPOAuth{} && (o.ClientID == "" || o.ClientSecret == "" || !token.Safe(o.Issuer)):
		return errors.New(".oauth needs client_id, client_secret and issuer, an https address")
	}
	return nil
}

func (s MCPServer) checkLimits(longest time.Duration) error {
	if s.Timeout < 0 || s.Timeout > longest {
		return fmt.Errorf(".timeout is %q; it must be 0, or at most run_timeout", s.Timeout)
	}
	if s.MaxOutput != 0 && (s.MaxOutput < 1000 || s.MaxOutput > 1_000_000) {
		return fmt.Errorf(".max_output is %d; it must be 0, or 1000 to 1000000", s.MaxOutput)
	}
	for tool, d := range s.Timeouts {
		if d <= 0 || d > longest {
			return fmt.Errorf(".timeouts.%s is %q; it must be more than 0 and at most run_timeout", tool, d)
		}
	}
	return nil
}

func (s MCPServer) checkLists() error {
	for _, name := range s.Assistants {
		if !slices.Contains(mcpAssistants, name) {
			return fmt.Errorf(".assistants has %q; it must be of %s", name, strings.Join(mcpAssistants, ", "))
		}
	}
	for setting, list := range map[string][]string{"allow": s.Allow, "deny": s.Deny, "ask": s.Ask} {
		for _, glob := range list {
			if _, err := path.Match(glob, "x"); err != nil {
				return fmt.Errorf(".%s has %q, which is not a name or glob", setting, glob)
			}
		}
	}
	return nil
}

// expanded returns the server with defaults, and with each ${NAME} replaced by a variable.
func (s MCPServer) expanded(env map[string]string) (MCPServer, error) {
	var missing error
	expand := func(v Secret) Secret {
		return Secret(mcpVariable.ReplaceAllStringFunc(string(v), func(ref string) string {
			value, ok := env[ref[2:len(ref)-1]]
			if !ok {
				missing = fmt.Errorf(" uses %s, but the environment has no such variable", ref)
			}
			return value
		}))
	}
	all := func(m map[string]Secret) map[string]Secret {
		out := map[string]Secret{}
		for name, v := range m {
			out[name] = expand(v)
			if name == "" || strings.ContainsAny(name, "= \r\n") || strings.ContainsAny(string(out[name]), "\r\n\x00") {
				missing = fmt.Errorf(" has the name %q, or a value of it, that contains a line break or =", name)
			}
		}
		return out
	}
	s.Environment, s.Headers, s.OAuth.ClientSecret = all(s.Environment), all(s.Headers), expand(s.OAuth.ClientSecret)
	if s.Timeout == 0 {
		s.Timeout = 30 * time.Second
	}
	if s.MaxOutput == 0 {
		s.MaxOutput = 50_000
	}
	if len(s.Assistants) == 0 {
		s.Assistants = mcpAssistants
	}
	return s, missing
}

// expandMCPServers replaces the variables in the settings of MCP servers, and sets their defaults.
func (c *Config) expandMCPServers(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		server, err := c.MCPServers[name].expanded(env)
		if err != nil {
			return fmt.Errorf("mcp_servers.%s%w", name, err)
		}
		c.MCPServers[name] = server
	}
	return nil
}
