// Package config reads the settings of a Footnote process from a file, the environment and flags, in
// ascending order of precedence, into one struct. It checks them before anything starts: an unknown key, an
// unreadable value or an invalid combination is an error that names the setting and its value.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/access"
	"github.com/footnotehq/footnote/tool/own"
	"github.com/footnotehq/footnote/tool/search"
)

// The upstreams a model can be reached through.
const (
	Anthropic  = "anthropic"
	Compatible = "compatible"
	Offline    = "offline"
)

// Config holds all settings. The yaml name of a setting is also the name of its environment variable: max_turns is
// FOOTNOTE_MAX_TURNS, limits.query_rows is FOOTNOTE_LIMITS_QUERY_ROWS. The tag must says in words what a value must be,
// for errors and for checkTags; with the tag empty, it may also be empty.
type Config struct {
	Listen  string            `yaml:"listen"`  // address and port; loopback by default
	Data    string            `yaml:"data"`    // folder for conversations and loaded files
	Store   Secret            `yaml:"store"`   // URL of the Postgres database for conversations; empty: a file in Data
	Redis   Secret            `yaml:"redis"`   // URL of the Redis shared by servers with one Store; empty: none
	Sources map[string]string `yaml:"sources"` // name → URL or path of a database or file
	Context string            `yaml:"context"` // folder of the glossary and the model of the data; empty: none
	// Filters restrict rows by caller, for sources without row-level security: source → table → condition, or all. A
	// source listed here shows only the tables it names.
	Filters map[string]map[string]string `yaml:"filters"`
	// Tables limit which tables of a source exist for Footnote, and describe them.
	Tables map[string]Tables `yaml:"tables"`
	// AcceptUnproven names sources whose database does not tell what its user may do beyond reading.
	AcceptUnproven []string `yaml:"accept_unproven"`
	// Functions are source=schema.name, for Postgres sources: database functions that queries may call.
	// source=extension allows all functions of an extension.
	Functions []string      `yaml:"functions"`
	APIKeys   []Key         `yaml:"api_keys"` // API keys of callers
	Auth      Auth          `yaml:"auth"`
	Access    []access.Rule `yaml:"access"` // access rules; empty: every caller may use everything
	Origins   []string      `yaml:"cors_origins"`

	Upstream  string   `yaml:"upstream" must:"anthropic, compatible or offline"` // how the model is reached
	BaseURL   string   `yaml:"base_url"`                                         // of the Messages API, without /v1
	APIKey    Secret   `yaml:"model_key"`                                        // for the Messages API; api_keys are for our callers
	Model     string   `yaml:"model"`                                            // "offline" forces the planner
	Fallbacks []string `yaml:"fallback_models"`
	MaxTokens int      `yaml:"max_tokens" must:"256 to 1000000"`                          // of one model message
	Effort    string   `yaml:"effort" must:"low, medium, high, xhigh or max" empty:"yes"` // empty: the model's default
	Marks     string   `yaml:"marks" must:"auto, on or off"`                              // whether models are asked for marks
	Prices    string   `yaml:"prices"`                                                    // file that overrides the price table

	ModelIdleTimeout time.Duration `yaml:"model_idle_timeout" must:"more than 0"` // longest silence during a model's answer

	InputMaxChars int           `yaml:"input_max_chars" must:"1 to 10000000"`
	MaxEvents     int64         `yaml:"conversation_max_events" must:"100 or more"`
	MaxHistory    int           `yaml:"max_history_length" must:"0, or 4 to 10000"` // messages before older ones are summarised; 0: no limit
	MaxTurns      int           `yaml:"max_turns" must:"1 to 1000"`
	MaxBudgetUSD  float64       `yaml:"max_budget_usd" must:"more than 0 and at most 10000"` // for one question
	RunTimeout    time.Duration `yaml:"run_timeout"`
	ToolTimeout   time.Duration `yaml:"tool_timeout"`
	HTTPTimeout   time.Duration `yaml:"http_timeout"` // for an answer that is not streamed
	DrainTimeout  time.Duration `yaml:"drain_timeout" must:"0 or more"`
	BodyLimit     int64         `yaml:"body_limit" must:"1024 to 1073741824"` // bytes of a request body
	UploadLimit   int64         `yaml:"upload_limit" must:"0 to 2147483648"`  // bytes of an uploaded file; 0: no uploads

	Limits Limits `yaml:"limits"`
	Tools  Tools  `yaml:"tools"`
	Cache  Cache  `yaml:"cache"`

	Market Market `yaml:"market"`
	MCP    MCP    `yaml:"mcp"`
	// MCPServers are those whose tools assistants may use, by name; only in the file.
	MCPServers map[string]MCPServer `yaml:"mcp_servers"`

	Tests Tests `yaml:"tests"`

	Workspace string `yaml:"workspace"` // folder for the coder's workspaces; empty: no coder
	Coder     Coder  `yaml:"coder"`

	LogOutput  string `yaml:"log_output" must:"stdout, file or both"`      // of the audit
	LogFile    string `yaml:"log_file"`                                    // of the audit
	LogVerbose bool   `yaml:"log_verbose"`                                 // also log each tool call with its reason, time, input and output
	LogLevel   string `yaml:"log_level" must:"debug, info, warn or error"` // of the server's own log

	SlowResponse time.Duration `yaml:"slow_response" must:"0s to 24h"` // answers that take this long count as slow; 0: none do
	Traces       Traces        `yaml:"traces"`

	OnDisconnect       string `yaml:"on_disconnect" must:"cancel or continue"`        // for the OpenAI endpoint
	StoredOnDisconnect string `yaml:"stored_on_disconnect" must:"cancel or continue"` // for the endpoints that can reopen a conversation

	OnBusy string `yaml:"on_busy" must:"reject, enqueue or interrupt"` // a /api/chat-v2 message while a run is active

	// Retention is how long organisations keep conversations after their last event, as org=duration; * stands for
	// all other organisations.
	Retention []string `yaml:"retention"`
	Results   Results  `yaml:"results"`
	LogRedact []string `yaml:"log_redact"` // regular expressions: matches are removed from log and audit

	Recall time.Duration `yaml:"conversation_cache_ttl" must:"0s to 24h"` // time that events of an active conversation stay in memory

	ParkTimeout time.Duration `yaml:"park_timeout" must:"1s to 24h"` // how long a call waits for a browser or a person
	Tiers       Tiers         `yaml:"tiers"`

	TokensPerDay int64 `yaml:"tokens_per_day" must:"0 to 1000000000000000"` // per user, each weighted by its tier; 0: no limit
}

// MCP configures the Model Context Protocol.
type MCP struct {
	URL        string `yaml:"url"`         // of /mcp as clients know it; empty: that of each request
	SignIn     bool   `yaml:"sign_in"`     // people may let programs act for them, with tokens that this server issues
	TableTools bool   `yaml:"table_tools"` // also offer the tools of common database servers, under their names
}

// check returns an error if the address cannot be one of this server, or if two issuers would sign its tokens.
func (m MCP) check(issuer string) error {
	switch {
	case m.SignIn && m.URL == "":
		return errors.New("mcp.sign_in needs mcp.url, the address for which tokens are issued")
	case m.SignIn && issuer != "":
		return errors.New("mcp.sign_in is for servers without auth.jwt.issuer; set only one of them")
	case m.URL == "":
		return nil
	}
	u, err := url.Parse(m.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Path != "/mcp" {
		return fmt.Errorf("mcp.url is %q; it must look like https://footnote.example.com/mcp", withoutUser(m.URL))
	}
	return nil
}

// Tests configures the suite of tests that the server runs by itself. Without a schedule it runs none.
type Tests struct {
	Suite    string        `yaml:"suite"`                             // file
	Schedule time.Duration `yaml:"schedule" must:"0, or 10m to 720h"` // from one run to the next; 0: no runs
	Live     bool          `yaml:"live"`                              // ask the model, which costs money
	Webhook  Secret        `yaml:"webhook"`                           // URL told about new failures; empty: none
}

// Results configures the stored rows of queries.
type Results struct {
	Keep time.Duration `yaml:"keep" must:"0, or 1h to 876000h"` // 0: as long as their conversation
}

// check returns an error if the settings of tests cannot work together.
func (t Tests) check(upstream string) error {
	switch {
	case t.Schedule > 0 && t.Suite == "":
		return errors.New("tests.schedule is set, but tests.suite is not: set it to the file of a suite")
	case t.Schedule == 0 && t.Webhook != "":
		return errors.New("tests.webhook is set, but tests.schedule is not: set it, such as to 24h")
	case t.Schedule == 0 && t.Live:
		return errors.New("tests.live is set, but tests.schedule is not: set it, such as to 24h")
	case t.Live && upstream == Offline:
		return errors.New("tests.live is set, but no model is configured: set model_key or base_url")
	}
	return nil
}

// Traces configures the export of traces. Without an endpoint nothing is sent.
type Traces struct {
	Endpoint string  `yaml:"endpoint"`            // of an OTLP-over-HTTP collector, without /v1/traces
	Headers  Secret  `yaml:"headers"`             // name=value, separated by commas
	Ratio    float64 `yaml:"ratio" must:"0 to 1"` // fraction of runs to trace, unless the caller decides
	Content  bool    `yaml:"content"`             // include questions, answers, statements and rows
}

// Header returns the headers for the collector, or nil if an entry is malformed.
func (t Traces) Header() map[string]string {
	out := map[string]string{}
	if t.Headers == "" {
		return out
	}
	for item := range strings.SplitSeq(string(t.Headers), ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok || !validName(name) || strings.ContainsAny(value, "\r\n") {
			return nil
		}
		out[name] = value
	}
	return out
}

// Auth configures how callers authenticate, besides api_keys.
type Auth struct {
	Required bool `yaml:"required"` // require a key even if api_keys is empty: one made by footnote keys
	JWT      JWT  `yaml:"jwt"`
}

// JWT configures which signed tokens are accepted, and which principals they identify. Without an issuer, none are
// accepted.
type JWT struct {
	Issuer          string   `yaml:"issuer"`
	Audience        string   `yaml:"audience"`
	Keys            string   `yaml:"keys"`       // address or file of the public keys; empty: found through the issuer
	Algorithms      []string `yaml:"algorithms"` // empty: RS256 and ES256
	Org             string   `yaml:"org"`        // for all users, instead of a claim
	OrgClaim        string   `yaml:"org_claim"`
	UserClaim       string   `yaml:"user_claim"`
	RolesClaim      string   `yaml:"roles_claim"`
	AttributeClaims []string `yaml:"attribute_claims"`
}

// NeedsKey reports whether callers must authenticate. Otherwise every caller on this machine is the same user.
func (c Config) NeedsKey() bool {
	return len(c.APIKeys) > 0 || c.Auth.Required || c.Auth.JWT.Issuer != ""
}

// Tiers are the model choices that an assistant may offer: the model of each, its effort (off: without thinking, or a
// level), and the weight of a token.
type Tiers struct {
	ProModel       string `yaml:"pro_model"`
	ProEffort      string `yaml:"pro_effort" must:"off, low, medium, high, xhigh or max" empty:"yes"`
	ProMultiplier  int    `yaml:"pro_multiplier" must:"1 to 1000"`
	HighModel      string `yaml:"high_model"`
	HighEffort     string `yaml:"high_effort" must:"off, low, medium, high, xhigh or max" empty:"yes"`
	HighMultiplier int    `yaml:"high_multiplier" must:"1 to 1000"`
	LowModel       string `yaml:"low_model"`
	LowEffort      string `yaml:"low_effort" must:"off, low, medium, high, xhigh or max" empty:"yes"`
	LowMultiplier  int    `yaml:"low_multiplier" must:"1 to 1000"`
}

// List returns the tiers, strongest first. High is the default one.
func (t Tiers) List() []agent.Tier {
	return []agent.Tier{
		{Name: "pro", Model: t.ProModel, Effort: t.ProEffort, Multiplier: t.ProMultiplier},
		{Name: "high", Model: t.HighModel, Effort: t.HighEffort, Multiplier: t.HighMultiplier, Default: true},
		{Name: "low", Model: t.LowModel, Effort: t.LowEffort, Multiplier: t.LowMultiplier},
	}
}

// Limits limit one query, and what users may consume.
type Limits struct {
	QueryTime   time.Duration `yaml:"query_time"`
	QueryRows   int           `yaml:"query_rows" must:"1 to 1000000"`
	QueryBytes  int64         `yaml:"query_bytes" must:"1024 to 268435456"`
	QueryMemory int64         `yaml:"query_memory" must:"67108864 or more"`
	LoadMemory  int64         `yaml:"load_memory" must:"134217728 or more"` // of one child process that loads files
	ChildMemory int64         `yaml:"child_memory"`                         // of all child processes together; 0: half of the machine's memory

	Estimate Estimate `yaml:"estimate"`

	ExportTime time.Duration `yaml:"export_time" must:"1s to 24h"` // of all rows of a result
	ExportRows int           `yaml:"export_rows" must:"1 to 1000000000"`

	Streams        int `yaml:"streams" must:"0 to 1000000"`          // open answers and event streams; 0: derived from the open-file limit
	StreamsPerUser int `yaml:"streams_per_user" must:"0 to 1000000"` // per user; 0: a quarter of streams

	Default    Allowance            `yaml:"default"`
	Orgs       map[string]Allowance `yaml:"orgs"`
	Roles      map[string]Allowance `yaml:"roles"`
	Users      map[string]Allowance `yaml:"users"`       // by org/user
	ToolPrices map[string]float64   `yaml:"tool_prices"` // per call, in US dollars
	BudgetWait time.Duration        `yaml:"budget_wait"` // for money reserved by other runs; 0: do not wait
	Replicas   int                  `yaml:"replicas"`    // servers dividing the request limits while Redis is down
}

// Estimate limits what a statement may read according to its database, before it runs. 0: no limit.
type Estimate struct {
	Rows  int64   `yaml:"rows" must:"0 or more"`
	Bytes int64   `yaml:"bytes" must:"0 or more"`
	USD   float64 `yaml:"usd" must:"0 to 10000"`
	Then  string  `yaml:"then" must:"approve or refuse"` // what happens to a statement above a limit
}

// Tools configures which tools may be used, by name or glob. Deny wins.
type Tools struct {
	Offer   []string `yaml:"offer"`
	Approve []string `yaml:"approve"`
	Deny    []string `yaml:"deny"`
	Trust   []string `yaml:"trust"` // may act outside without approval even after text from outside was read

	Own    []OwnTool      `yaml:"own"`    // only in the file
	Search []search.Table `yaml:"search"` // only in the file
}

// OwnTool is a tool that runs one statement with parameters.
type OwnTool struct {
	Name        string          `yaml:"name"`
	Description string          `yaml:"description"` // for the model
	Source      string          `yaml:"source"`
	SQL         string          `yaml:"sql"` // with $1, $2, … for the parameters, in order
	Parameters  []own.Parameter `yaml:"parameters"`
	TTL         *time.Duration  `yaml:"ttl"` // in the cache; unset: the default for all tools
}

// FunctionsOf returns the functions and extensions that queries of a source may use.
func (c Config) FunctionsOf(source string) []string { return valuesOf(c.Functions, source) }

// valuesOf returns the values of the entries name=value with a name.
func valuesOf(entries []string, name string) (values []string) {
	for _, entry := range entries {
		if n, value, _ := strings.Cut(entry, "="); strings.TrimSpace(n) == name {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}

// Cache configures where and for how long results of tools are cached. They are in Redis if it is configured,
// otherwise in memory.
type Cache struct {
	TTL   time.Duration `yaml:"ttl" must:"0s to 24h"` // 0: no cache
	Tools []string      `yaml:"tools"`                // tool=duration, to override ttl
	// Versions are source=statement, for Postgres sources: results are cached until the statement returns another
	// value.
	Versions []string `yaml:"versions"`
	Bytes    int64    `yaml:"bytes" must:"1048576 to 68719476736"` // in memory
	Entries  int      `yaml:"entries" must:"1 to 10000000"`        // in memory
	Secret   Secret   `yaml:"secret"`                              // encrypts results in Redis; empty: nothing does
}

// Version returns the statement for the version of a source's data, or "".
func (c Cache) Version(source string) string {
	if sql := valuesOf(c.Versions, source); len(sql) > 0 {
		return sql[0]
	}
	return ""
}

// Of returns how long results of a tool are cached; 0 means never.
func (c Cache) Of(tool string) time.Duration {
	for _, value := range valuesOf(c.Tools, tool) {
		if d, err := time.ParseDuration(value); err == nil {
			return d
		}
	}
	return c.TTL
}

// longestTTL is the longest time a result can be cached.
const longestTTL = 24 * time.Hour

// Market configures the market data of charts.
type Market struct {
	Store Secret `yaml:"store"` // path of a SQLite file, or URL of a Postgres database; empty: none
	Feed  Secret `yaml:"feed"`  // http, https, ws or wss URL; empty or replay: the newest stored candle, repeated
}

// Coder configures what the coder may do, and its limits. Entries of the lists are names of tools or globs; deny wins
// over ask, and ask over allow. A tool that no entry names is allowed if it only reads, and needs approval otherwise.
type Coder struct {
	Allow         []string      `yaml:"allow"`
	Ask           []string      `yaml:"ask"`
	Deny          []string      `yaml:"deny"`
	CommandTime   time.Duration `yaml:"command_time" must:"more than 0 and at most 1h"`
	CommandMemory int64         `yaml:"command_memory" must:"67108864 or more"`
	Size          int64         `yaml:"size" must:"1048576 or more"`    // of one workspace
	History       int64         `yaml:"history" must:"1048576 or more"` // of the file contents kept for one workspace
	OrgHistory    int64         `yaml:"org_history"`                    // of all workspaces of an organisation
}

// Key is an API key for callers, and the principal that it identifies.
type Key struct {
	Key        Secret            `yaml:"key"`
	Org        string            `yaml:"org"`
	User       string            `yaml:"user"`
	Roles      []string          `yaml:"roles"`
	Attributes map[string]string `yaml:"attributes"`
}

// Default returns the configuration of a process without any settings.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:8787", Data: "data", Sources: map[string]string{},
		Model: "claude-sonnet-5-5", Marks: "auto", MaxTokens: 16_000, ModelIdleTimeout: 2 * time.Minute,
		InputMaxChars: 10_000, MaxTurns: 10, MaxBudgetUSD: 0.50,
		RunTimeout: 240 * time.Second, ToolTimeout: 30 * time.Second, HTTPTimeout: 300 * time.Second,
		DrainTimeout: 60 * time.Second,
		BodyLimit:    1 << 20, UploadLimit: 256 << 20,
		Limits: Limits{
			QueryTime: 30 * time.Second, QueryRows: 10_000, QueryBytes: 5 << 20, QueryMemory: 512 << 20,
			LoadMemory: 1 << 30, BudgetWait: 20 * time.Second, Replicas: 1,
			Estimate:   Estimate{Then: "approve"},
			ExportTime: 10 * time.Minute, ExportRows: 100_000_000,
		},
		LogOutput: "stdout", LogFile: "audit.jsonl", LogLevel: "info", OnDisconnect: agent.Cancel,
		StoredOnDisconnect: agent.Continue, OnBusy: "reject", MaxEvents: 20_000,
		SlowResponse: 30 * time.Second, Traces: Traces{Ratio: 1},
		ParkTimeout: 5 * time.Minute,
		Auth:        Auth{JWT: JWT{OrgClaim: "org", UserClaim: "sub", RolesClaim: "roles"}},
		Results:     Results{Keep: 365 * 24 * time.Hour},
		Cache:       Cache{TTL: 5 * time.Minute, Bytes: 64 << 20, Entries: 10_000},
		Tiers:       Tiers{ProMultiplier: 5, HighMultiplier: 3, LowMultiplier: 1, LowEffort: footnote.EffortOff},
		Coder: Coder{
			CommandTime: 2 * time.Minute, CommandMemory: 512 << 20, Size: 256 << 20, History: 64 << 20,
			OrgHistory: 1 << 30,
		},
	}
}

// Load reads the settings: the file (path, or FOOTNOTE_CONFIG, or footnote.yaml in the working folder if it exists),
// then the environment, then flags, which are settings by name ("max_turns" → "5"). It returns a checked
// configuration.
func Load(path string, environ []string, flags map[string]string) (Config, error) {
	c := Default()
	env := variables(environ)
	if path == "" {
		path = env["FOOTNOTE_CONFIG"]
	}
	if err := c.readFile(path); err != nil {
		return c, err
	}
	if err := c.readEnv(env); err != nil {
		return c, err
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if err := c.Set(name, flags[name]); err != nil {
			return c, err
		}
	}
	if err := c.expandMCPServers(env); err != nil {
		return c, err
	}
	named := c.Upstream != ""
	c.settle()
	return c, cmp.Or(c.Check(), c.checkElsewhere(named))
}

func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

func (c *Config) readEnv(env map[string]string) error {
	if err := c.readForeign(env); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		setting, ours := strings.CutPrefix(name, "FOOTNOTE_")
		if !ours || name == "FOOTNOTE_CONFIG" {
			continue
		}
		setting = strings.ToLower(setting)
		if value == "" && (known(setting) || retired[setting] != "") {
			continue // empty counts as unset
		}
		if err := c.Set(setting, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Tables says which tables of a source exist for Footnote, and what they hold. A name is table or schema.table, in
// which * stands for any text; those of the default schema are named without it.
type Tables struct {
	Include      []string          `yaml:"include"` // empty: all
	Exclude      []string          `yaml:"exclude"`
	Descriptions map[string]string `yaml:"descriptions"` // by table, or table.column
}

// known reports whether a setting of this name exists.
func known(name string) bool {
	_, ok := find(reflect.ValueOf(new(Config)).Elem(), name)
	return ok
}

// Set parses a value and stores it in the setting with the given name. Lists are separated by commas; sources are
// name=url-or-path, api_keys are key[=org/user].
func (c *Config) Set(name, value string) (err error) {
	switch name {
	case "sources":
		sources, err := ParseSources(value)
		if err != nil {
			return err
		}
		if c.Sources == nil {
			c.Sources = map[string]string{}
		}
		maps.Copy(c.Sources, sources)
		return nil
	case "access":
		c.Access, err = parseYAML[[]access.Rule](name, value, "a list of rules")
		return err
	case "filters":
		c.Filters, err = parseYAML[map[string]map[string]string](name, value, "sources with tables and conditions")
		return err
	case "api_keys":
		c.APIKeys, err = parseKeys(value)
		return err
	}
	field, ok := find(reflect.ValueOf(c).Elem(), name)
	if !ok {
		return noSetting(name, value)
	}
	if err := assign(field, value); err != nil {
		return fmt.Errorf("%s is %q: %w", name, printableValue(name, value), err)
	}
	return nil
}

// find returns the field of a setting; a nested name is limits_query_rows or limits.query_rows.
func find(v reflect.Value, name string) (reflect.Value, bool) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("yaml")
		if tag == name {
			return v.Field(i), true
		}
		if v.Field(i).Kind() != reflect.Struct {
			continue
		}
		for _, sep := range []string{"_", "."} {
			if rest, ok := strings.CutPrefix(name, tag+sep); ok {
				return find(v.Field(i), rest)
			}
		}
	}
	return reflect.Value{}, false
}

func assign(field reflect.Value, value string) error {
	switch field.Interface().(type) {
	case time.Duration:
		d, err := time.ParseDuration(value)
		if err != nil {
			return errors.New("it must be a duration such as 30s or 4m")
		}
		field.SetInt(int64(d))
		return nil
	case []string:
		var list []string
		for _, item := range strings.Split(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		field.Set(reflect.ValueOf(list))
		return nil
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(value)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return errors.New("it must be a whole number")
		}
		field.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return errors.New("it must be a number")
		}
		field.SetFloat(f)
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("it must be true or false")
		}
		field.SetBool(b)
	default:
		return errors.New("it can only be set in the configuration file")
	}
	return nil
}

// ParseSources parses name=url-or-path, separated by commas. A comma separates only if a name and an equals sign
// follow, because paths may contain commas.
func ParseSources(list string) (map[string]string, error) {
	sources := map[string]string{}
	for rest := list; rest != ""; {
		name, after, ok := strings.Cut(rest, "=")
		if !ok || !validName(name) {
			return nil, fmt.Errorf(
				"sources is %q: each source is name=url-or-path, the name of letters, digits, - and _", Redact(list))
		}
		value := after
		rest = ""
		for i := 0; i < len(after); i++ {
			if after[i] != ',' {
				continue
			}
			next, _, ok := strings.Cut(after[i+1:], "=")
			if ok && validName(next) {
				value, rest = after[:i], after[i+1:]
				break
			}
		}
		if value == "" {
			return nil, fmt.Errorf("sources is %q: the source %s has no path", Redact(list), name)
		}
		if _, twice := sources[name]; twice {
			return nil, fmt.Errorf("sources is %q: two sources are named %s", Redact(list), name)
		}
		sources[name] = value
	}
	return sources, nil
}

func validName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// parseYAML parses a setting in the file format, YAML or JSON. shape describes the expected value in the error.
func parseYAML[T any](name, text, shape string) (value T, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) != 1 {
		return value, fmt.Errorf("%s must be %s in YAML or JSON", name, shape)
	}
	if err := checkNode(doc.Content[0], reflect.TypeFor[T](), name); err != nil {
		return value, err
	}
	err = doc.Decode(&value)
	return value, err
}

func parseKeys(list string) ([]Key, error) {
	var keys []Key
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		k, err := parseKey(item)
		if err != nil {
			return nil, fmt.Errorf("api_keys: entry %d %w", len(keys)+1, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// parseKey parses key[=org/user]. A key may itself end with =, as base64 does.
func parseKey(item string) (Key, error) {
	at := strings.LastIndex(item, "=")
	if at < 0 || at == len(item)-1 {
		return Key{Key: Secret(item)}, nil
	}
	org, user, ok := strings.Cut(item[at+1:], "/")
	if !ok || org == "" || user == "" {
		return Key{}, errors.New("must be key or key=org/user")
	}
	return Key{Key: Secret(item[:at]), Org: org, User: user}, nil
}

// settle sets the settings that follow from others.
func (c *Config) settle() {
	c.BaseURL = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(c.BaseURL, "/"), "/v1"), "/")
	switch {
	case c.Model == Offline:
		c.Upstream = Offline
	case c.Upstream != "":
	case c.BaseURL == "" && c.APIKey == "":
		c.Upstream = Offline
	case c.BaseURL == "" || hostOf(c.BaseURL) == "api.anthropic.com":
		c.Upstream = Anthropic
	default:
		c.Upstream = Compatible
	}
	if c.Upstream == Offline {
		c.Model = Offline
	}
	c.settleTiers()
	for i := range c.APIKeys {
		if c.APIKeys[i].Org == "" {
			c.APIKeys[i].Org = "local"
		}
		if c.APIKeys[i].User == "" {
			c.APIKeys[i].User = "key" + strconv.Itoa(i+1)
		}
	}
}

// settleTiers sets the missing models of tiers: the process's own for high, which is the default tier, and for the
// others the provider's strongest and fastest models, or the only model there is.
func (c *Config) settleTiers() {
	t := &c.Tiers
	for i, model := range []*string{&t.ProModel, &t.HighModel, &t.LowModel} {
		switch {
		case *model != "" && c.Upstream != Offline:
		case c.Upstream == Anthropic:
			*model = []string{"claude-opus-5-5", c.Model, "claude-haiku-5-5"}[i]
		default:
			*model = c.Model
		}
	}
}

// PostgresURL reports whether s is a URL of a Postgres database. Stores are in Postgres or in a file.
func PostgresURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
}

// redisURL reports whether s is a URL of a Redis server.
func redisURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	return u.Scheme == "unix" && u.Path != "" || (u.Scheme == "redis" || u.Scheme == "rediss") && u.Host != ""
}

// Replay is the feed that replays stored prices.
const Replay = "replay"

// hostOf returns the host of a URL, without its port.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// AuditFile returns the path of the audit file.
func (c Config) AuditFile() string {
	if filepath.IsAbs(c.LogFile) {
		return c.LogFile
	}
	return filepath.Join(c.Data, c.LogFile)
}

// Principals returns the principal of each key.
func (c Config) Principals() map[string]footnote.Principal {
	out := map[string]footnote.Principal{}
	for _, k := range c.APIKeys {
		out[string(k.Key)] = k.principal()
	}
	return out
}

// principal returns the principal that a key identifies.
func (k Key) principal() footnote.Principal {
	return footnote.Principal{Org: k.Org, User: k.User, Roles: k.Roles, Attributes: k.Attributes}
}

// DemoMarket is the name of the demo's market file in the data folder. If market.store names a missing file with this
// name, the file is generated.
const DemoMarket = "demo-market.db"

// Invalid marks an error that the user must fix by another setting or argument. Commands then exit with the code for
// wrong usage.
type Invalid struct{ Err error }

func (e *Invalid) Error() string { return e.Err.Error() }

func (e *Invalid) Unwrap() error { return e.Err }
