// Package config is the settings of a Footnote process: a file, the environment
// and flags, in growing weight, in one struct that is checked before anything
// starts. An unknown key, a value that cannot be read and a combination that
// cannot work are errors that name the setting and its value.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/token"
)

// The upstreams a model can be reached through.
const (
	Anthropic  = "anthropic"
	Compatible = "compatible"
	Offline    = "offline"
)

// Config is every setting. The yaml name of a setting is also the name of its
// environment variable: max_turns is FOOTNOTE_MAX_TURNS, limits.query_rows is
// FOOTNOTE_LIMITS_QUERY_ROWS.
type Config struct {
	Listen  string            `yaml:"listen"`   // address and port; loopback by default
	Data    string            `yaml:"data"`     // folder for conversations and loaded files
	Store   Secret            `yaml:"store"`    // URL of the Postgres database for conversations; empty: a file in Data
	Redis   Secret            `yaml:"redis"`    // URL of the Redis that servers on one Store share; empty: none
	Sources map[string]string `yaml:"sources"`  // name → URL or path of a database or file
	APIKeys []Key             `yaml:"api_keys"` // who may call
	Auth    Auth              `yaml:"auth"`
	Origins []string          `yaml:"cors_origins"`

	Upstream  string   `yaml:"upstream"` // anthropic, compatible or offline
	BaseURL   string   `yaml:"base_url"` // of the Messages API, without /v1
	APIKey    Secret   `yaml:"api_key"`  // of the Messages API
	Model     string   `yaml:"model"`    // "offline" forces the planner
	Fallbacks []string `yaml:"fallback_models"`
	MaxTokens int      `yaml:"max_tokens"` // of one model message
	Effort    string   `yaml:"effort"`     // low, medium, high, xhigh, max; empty: the model's own
	Prices    string   `yaml:"prices"`     // file that overrides the price table

	ModelIdleTimeout time.Duration `yaml:"model_idle_timeout"` // longest silence within a model's answer

	InputMaxChars int           `yaml:"input_max_chars"`
	MaxEvents     int64         `yaml:"conversation_max_events"`
	MaxHistory    int           `yaml:"max_history_length"` // messages a model reads before they are summarised; 0: all
	MaxTurns      int           `yaml:"max_turns"`
	MaxBudgetUSD  float64       `yaml:"max_budget_usd"` // for one question
	RunTimeout    time.Duration `yaml:"run_timeout"`
	ToolTimeout   time.Duration `yaml:"tool_timeout"`
	HTTPTimeout   time.Duration `yaml:"http_timeout"` // of an answer that is not streamed
	DrainTimeout  time.Duration `yaml:"drain_timeout"`
	BodyLimit     int64         `yaml:"body_limit"`   // bytes of a request body
	UploadLimit   int64         `yaml:"upload_limit"` // bytes of an uploaded file; 0: no uploads

	Limits Limits `yaml:"limits"`
	Tools  Tools  `yaml:"tools"`

	Workspace string `yaml:"workspace"` // folder for the coder's workspaces; empty: there is no coder
	Coder     Coder  `yaml:"coder"`

	LogOutput  string `yaml:"log_output"`  // of the audit: stdout, file or both
	LogFile    string `yaml:"log_file"`    // of the audit
	LogVerbose bool   `yaml:"log_verbose"` // each tool call with its reason and time, too
	LogLevel   string `yaml:"log_level"`   // of the server's own log: debug, info, warn, error

	OnDisconnect       string `yaml:"on_disconnect"`        // of the OpenAI door: cancel or continue
	StoredOnDisconnect string `yaml:"stored_on_disconnect"` // of the doors that show a stored conversation again

	OnBusy string `yaml:"on_busy"` // a message of /api/chat-v2 to a conversation that is still answering: reject, enqueue or interrupt

	// Retention is how long organisations keep conversations after their last event, as
	// org=duration; * is all others.
	Retention []string `yaml:"retention"`
	LogRedact []string `yaml:"log_redact"` // expressions: what they match is kept out of log and audit

	Recall time.Duration `yaml:"conversation_cache_ttl"` // how long the events of an active conversation are kept in memory; 0: not at all

	ParkTimeout time.Duration `yaml:"park_timeout"` // how long a call waits for a browser or a person
	Tiers       Tiers         `yaml:"tiers"`

	TokensPerDay int64 `yaml:"tokens_per_day"` // of one user, each counted as often as its tier says; 0: no limit
}

// Auth says how callers show who they are, beside api_keys.
type Auth struct {
	Required bool `yaml:"required"` // a key is needed also where api_keys is empty: one that footnote keys made
	JWT      JWT  `yaml:"jwt"`
}

// JWT says which signed tokens are believed, and whom they stand for. Without an
// issuer there are none.
type JWT struct {
	Issuer          string   `yaml:"issuer"`
	Audience        string   `yaml:"audience"`
	Keys            string   `yaml:"keys"`       // address or file of the public keys; empty: where the issuer says
	Algorithms      []string `yaml:"algorithms"` // empty: RS256 and ES256
	Org             string   `yaml:"org"`        // of all users, instead of a claim
	OrgClaim        string   `yaml:"org_claim"`
	UserClaim       string   `yaml:"user_claim"`
	RolesClaim      string   `yaml:"roles_claim"`
	AttributeClaims []string `yaml:"attribute_claims"`
}

// NeedsKey reports whether callers must show who they are. Without it every caller
// on this machine is one user.
func (c Config) NeedsKey() bool {
	return len(c.APIKeys) > 0 || c.Auth.Required || c.Auth.JWT.Issuer != ""
}

// Tiers are the choices of model that an assistant may offer: for each the model,
// its effort (off: without thinking, or a level), and what a token counts.
type Tiers struct {
	ProModel       string `yaml:"pro_model"`
	ProEffort      string `yaml:"pro_effort"`
	ProMultiplier  int    `yaml:"pro_multiplier"`
	HighModel      string `yaml:"high_model"`
	HighEffort     string `yaml:"high_effort"`
	HighMultiplier int    `yaml:"high_multiplier"`
	LowModel       string `yaml:"low_model"`
	LowEffort      string `yaml:"low_effort"`
	LowMultiplier  int    `yaml:"low_multiplier"`
}

// List is the tiers in falling strength.
func (t Tiers) List() []agent.Tier {
	return []agent.Tier{
		{Name: "pro", Model: t.ProModel, Effort: t.ProEffort, Multiplier: t.ProMultiplier},
		{Name: "high", Model: t.HighModel, Effort: t.HighEffort, Multiplier: t.HighMultiplier},
		{Name: "low", Model: t.LowModel, Effort: t.LowEffort, Multiplier: t.LowMultiplier},
	}
}

// Limits bound one query.
type Limits struct {
	QueryTime   time.Duration `yaml:"query_time"`
	QueryRows   int           `yaml:"query_rows"`
	QueryBytes  int64         `yaml:"query_bytes"`
	QueryMemory int64         `yaml:"query_memory"`
}

// Tools says which tools may be used: names or globs. Deny wins.
type Tools struct {
	Offer   []string `yaml:"offer"`
	Approve []string `yaml:"approve"`
	Deny    []string `yaml:"deny"`
}

// Coder says what the coder may do, and how much. Entries of the lists are names of
// tools or globs; deny wins over ask, and ask over allow. What none of them names is
// allowed when it only reads, and asked otherwise.
type Coder struct {
	Allow         []string      `yaml:"allow"`
	Ask           []string      `yaml:"ask"`
	Deny          []string      `yaml:"deny"`
	CommandTime   time.Duration `yaml:"command_time"`
	CommandMemory int64         `yaml:"command_memory"`
	Size          int64         `yaml:"size"` // of one workspace
}

// Key is an API key of ours and who it stands for.
type Key struct {
	Key        Secret            `yaml:"key"`
	Org        string            `yaml:"org"`
	User       string            `yaml:"user"`
	Roles      []string          `yaml:"roles"`
	Attributes map[string]string `yaml:"attributes"`
}

// Default is the configuration of a process that was told nothing.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:8787", Data: "data", Sources: map[string]string{},
		Model: "claude-sonnet-5-5", MaxTokens: 16_000, ModelIdleTimeout: 2 * time.Minute,
		InputMaxChars: 10_000, MaxTurns: 10, MaxBudgetUSD: 0.50,
		RunTimeout: 240 * time.Second, ToolTimeout: 30 * time.Second, HTTPTimeout: 300 * time.Second, DrainTimeout: 60 * time.Second,
		BodyLimit: 1 << 20, UploadLimit: 256 << 20,
		Limits:    Limits{QueryTime: 30 * time.Second, QueryRows: 10_000, QueryBytes: 5 << 20, QueryMemory: 512 << 20},
		LogOutput: "stdout", LogFile: "audit.jsonl", LogLevel: "info", OnDisconnect: agent.Cancel, StoredOnDisconnect: agent.Continue, OnBusy: "reject", MaxEvents: 20_000,
		ParkTimeout: 5 * time.Minute,
		Auth:        Auth{JWT: JWT{OrgClaim: "org", UserClaim: "sub", RolesClaim: "roles"}},
		Tiers:       Tiers{ProMultiplier: 5, HighMultiplier: 3, LowMultiplier: 1, LowEffort: footnote.EffortOff},
		Coder:       Coder{CommandTime: 2 * time.Minute, CommandMemory: 512 << 20, Size: 256 << 20},
	}
}

// Load reads the settings: the file (path, or FOOTNOTE_CONFIG, or footnote.yaml in
// the working folder where there is one), then the environment, then flags, which
// are settings by name ("max_turns" → "5"). The result has been checked.
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
	for _, name := range sortedKeys(flags) {
		if err := c.Set(name, flags[name]); err != nil {
			return c, err
		}
	}
	c.settle()
	return c, c.Check()
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
	for _, name := range sortedKeys(env) {
		value := env[name]
		setting, ours := strings.CutPrefix(name, "FOOTNOTE_")
		if !ours || name == "FOOTNOTE_CONFIG" {
			continue
		}
		setting = strings.ToLower(setting)
		if value == "" && known(setting) {
			continue // set to nothing is not set
		}
		if err := c.Set(setting, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// known reports whether there is a setting of this name.
func known(name string) bool {
	_, ok := find(reflect.ValueOf(new(Config)).Elem(), name)
	return ok
}

// Set changes the setting with a name to a value in text form. Lists are separated
// by commas; sources are name=url-or-path, api_keys are key[=org/user].
func (c *Config) Set(name, value string) error {
	switch name {
	case "sources":
		sources, err := ParseSources(value)
		if err != nil {
			return err
		}
		if c.Sources == nil {
			c.Sources = map[string]string{}
		}
		for k, v := range sources {
			c.Sources[k] = v
		}
		return nil
	case "api_keys":
		keys, err := parseKeys(value)
		c.APIKeys = keys
		return err
	}
	field, ok := find(reflect.ValueOf(c).Elem(), name)
	if !ok {
		return noSetting(name, value)
	}
	if err := assign(field, value); err != nil {
		return fmt.Errorf("%s is %q: %w", name, shown(name, value), err)
	}
	return nil
}

// find returns the field of a setting; a nested one is limits_query_rows or
// limits.query_rows.
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

// ParseSources reads name=url-or-path, separated by commas. A comma splits only
// where a name and an equals sign follow, because paths may hold commas.
func ParseSources(list string) (map[string]string, error) {
	sources := map[string]string{}
	for rest := list; rest != ""; {
		name, after, ok := strings.Cut(rest, "=")
		if !ok || !validName(name) {
			return nil, fmt.Errorf("sources is %q: each source is name=url-or-path, the name of letters, digits, - and _", Redact(list))
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
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 64
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

// parseKey reads key[=org/user]. A key may itself end with =, as base64 does.
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

// settle fills in what follows from other settings.
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

// settleTiers gives the tiers without a model one: the vendor's three strengths, or
// the one model there is.
func (c *Config) settleTiers() {
	t := &c.Tiers
	for i, model := range []*string{&t.ProModel, &t.HighModel, &t.LowModel} {
		switch {
		case *model != "" && c.Upstream != Offline:
		case c.Upstream == Anthropic:
			*model = []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"}[i]
		default:
			*model = c.Model
		}
	}
}

// postgresURL reports whether a text is a URL of a Postgres database.
func postgresURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && oneOf(u.Scheme, "postgres", "postgresql")
}

// redisURL reports whether a text is a URL of a Redis server.
func redisURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (oneOf(u.Scheme, "redis", "rediss") && u.Host != "" || u.Scheme == "unix" && u.Path != "")
}

// hostOf is the host that a URL names, without its port.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// AuditFile is the path of the audit file.
func (c Config) AuditFile() string {
	if filepath.IsAbs(c.LogFile) {
		return c.LogFile
	}
	return filepath.Join(c.Data, c.LogFile)
}

// Check reports the first setting that cannot be right.
func (c Config) Check() error {
	checks := []struct {
		name string
		ok   bool
		got  any
		want string
	}{
		{"upstream", oneOf(c.Upstream, Anthropic, Compatible, Offline), c.Upstream, "anthropic, compatible or offline"},
		{"effort", oneOf(c.Effort, "", "low", "medium", "high", "xhigh", "max"), c.Effort, "low, medium, high, xhigh or max"},
		{"log_output", oneOf(c.LogOutput, "stdout", "file", "both"), c.LogOutput, "stdout, file or both"},
		{"log_level", oneOf(c.LogLevel, "debug", "info", "warn", "error"), c.LogLevel, "debug, info, warn or error"},
		{"on_disconnect", oneOf(c.OnDisconnect, agent.Cancel, agent.Continue), c.OnDisconnect, "cancel or continue"},
		{"on_busy", oneOf(c.OnBusy, "reject", "enqueue", "interrupt"), c.OnBusy, "reject, enqueue or interrupt"},
		{"max_history_length", c.MaxHistory == 0 || c.MaxHistory >= 4 && c.MaxHistory <= 10_000, c.MaxHistory, "0, or 4 to 10000"},
		{"conversation_cache_ttl", c.Recall >= 0 && c.Recall <= 24*time.Hour, c.Recall, "0s to 24h"},
		{"conversation_max_events", c.MaxEvents >= 100, c.MaxEvents, "100 or more"},
		{"stored_on_disconnect", oneOf(c.StoredOnDisconnect, agent.Cancel, agent.Continue), c.StoredOnDisconnect, "cancel or continue"},
		{"tokens_per_day", c.TokensPerDay >= 0 && c.TokensPerDay <= 1e15, c.TokensPerDay, "0 to 1000000000000000"},
		{"park_timeout", c.ParkTimeout >= time.Second && c.ParkTimeout <= 24*time.Hour, c.ParkTimeout, "1s to 24h"},
		{"input_max_chars", c.InputMaxChars > 0 && c.InputMaxChars <= 10_000_000, c.InputMaxChars, "1 to 10000000"},
		{"max_turns", c.MaxTurns > 0 && c.MaxTurns <= 1000, c.MaxTurns, "1 to 1000"},
		{"max_budget_usd", c.MaxBudgetUSD > 0 && c.MaxBudgetUSD <= 10_000, c.MaxBudgetUSD, "more than 0 and at most 10000"},
		{"model_idle_timeout", c.ModelIdleTimeout > 0, c.ModelIdleTimeout, "more than 0"},
		{"max_tokens", c.MaxTokens >= 256 && c.MaxTokens <= 1_000_000, c.MaxTokens, "256 to 1000000"},
		{"tool_timeout", c.ToolTimeout > 0 && c.ToolTimeout <= c.RunTimeout, c.ToolTimeout, "more than 0 and at most run_timeout"},
		{"run_timeout", c.RunTimeout > 0 && c.RunTimeout <= c.HTTPTimeout, c.RunTimeout, "more than 0 and at most http_timeout"},
		{"drain_timeout", c.DrainTimeout >= 0, c.DrainTimeout, "0 or more"},
		{"upload_limit", c.UploadLimit >= 0 && c.UploadLimit <= 2<<30, c.UploadLimit, "0 to 2147483648"},
		{"body_limit", c.BodyLimit >= 1<<10 && c.BodyLimit <= 1<<30, c.BodyLimit, "1024 to 1073741824"},
		{"limits.query_time", c.Limits.QueryTime > 0 && c.Limits.QueryTime <= c.ToolTimeout, c.Limits.QueryTime, "more than 0 and at most tool_timeout"},
		{"limits.query_rows", c.Limits.QueryRows > 0 && c.Limits.QueryRows <= 1_000_000, c.Limits.QueryRows, "1 to 1000000"},
		{"limits.query_bytes", c.Limits.QueryBytes >= 1<<10 && c.Limits.QueryBytes <= 256<<20, c.Limits.QueryBytes, "1024 to 268435456"},
		{"limits.query_memory", c.Limits.QueryMemory >= 64<<20, c.Limits.QueryMemory, "67108864 or more"},
		{"coder.command_time", c.Coder.CommandTime > 0 && c.Coder.CommandTime <= time.Hour, c.Coder.CommandTime, "more than 0 and at most 1h"},
		{"coder.command_memory", c.Coder.CommandMemory >= 64<<20, c.Coder.CommandMemory, "67108864 or more"},
		{"coder.size", c.Coder.Size >= 1<<20, c.Coder.Size, "1048576 or more"},
		{"data", c.Data != "", c.Data, "a folder"},
		{"store", c.Store == "" || postgresURL(string(c.Store)), c.Store, "empty, or postgres://user:password@host/database with the special characters of the password written as %XX"},
		{"redis", c.Redis == "" || redisURL(string(c.Redis)), c.Redis, "empty, or redis://user:password@host:6379/0, rediss:// with TLS, or unix:///path/of/its/socket"},
		{"log_file", c.LogFile != "" || c.LogOutput == "stdout", c.LogFile, "a file, because log_output names one"},
		{"model", c.Model != "", c.Model, "a model"},
		{"base_url", c.BaseURL == "" || webAddress(c.BaseURL), withoutUser(c.BaseURL), "an address such as http://127.0.0.1:11434"},
	}
	if err := c.checkTiers(); err != nil {
		return err
	}
	for _, k := range checks {
		if !k.ok {
			return fmt.Errorf("%s is %q; it must be %s", k.name, fmt.Sprint(k.got), k.want)
		}
	}
	if _, err := c.RetentionRules(); err != nil {
		return err
	}
	if _, err := c.RedactPatterns(); err != nil {
		return err
	}
	if c.Upstream == Anthropic && c.APIKey == "" {
		return errors.New(`upstream is "anthropic", but api_key (ANTHROPIC_API_KEY) is not set`)
	}
	if c.Upstream == Compatible && c.BaseURL == "" {
		return errors.New(`upstream is "compatible", but base_url (ANTHROPIC_BASE_URL) is not set`)
	}
	for _, name := range sortedKeys(c.Sources) {
		if err := CheckSource(name, c.Sources[name]); err != nil {
			return err
		}
	}
	return cmp.Or(c.checkOrigins(), c.Auth.JWT.check(), c.checkTools(), c.checkListen())
}

// check says what is wrong with the settings of tokens.
func (j JWT) check() error {
	if j.Issuer == "" {
		if j.Audience != "" || j.Keys != "" {
			return errors.New("auth.jwt.issuer is not set, but other settings of auth.jwt are")
		}
		return nil
	}
	if j.Audience == "" {
		return errors.New("auth.jwt.audience is not set; it must be what the issuer calls this server, or tokens for others would be believed")
	}
	if strings.Contains(j.Keys, "://") && !token.Safe(j.Keys) {
		return fmt.Errorf("auth.jwt.keys is %q; it must be https, or on this machine, or a file", withoutUser(j.Keys))
	}
	if j.Keys == "" && !token.Safe(j.Issuer) {
		return fmt.Errorf("auth.jwt.issuer is %q; without auth.jwt.keys it must be an https address", withoutUser(j.Issuer))
	}
	for _, a := range j.Algorithms {
		if !oneOf(a, token.Algorithms...) {
			return fmt.Errorf("auth.jwt.algorithms has %q; it must be of %s", a, strings.Join(token.Algorithms, ", "))
		}
	}
	return nil
}

// RetentionRules are how long organisations keep conversations.
func (c Config) RetentionRules() (map[string]time.Duration, error) {
	rules := map[string]time.Duration{}
	for _, item := range c.Retention {
		at := strings.LastIndexByte(item, '=')
		if at <= 0 {
			return nil, fmt.Errorf("retention has %q; it must be org=duration, such as acme=90d", item)
		}
		org, text := item[:at], item[at+1:]
		age, err := time.ParseDuration(text)
		if days, ok := strings.CutSuffix(text, "d"); ok {
			var n int
			n, err = strconv.Atoi(days)
			age = time.Duration(min(n, 36_500)) * 24 * time.Hour
		}
		if err != nil || age < time.Hour {
			return nil, fmt.Errorf("retention has %q; it must be org=duration of at least 1h, such as acme=90d", item)
		}
		if _, twice := rules[org]; twice {
			return nil, fmt.Errorf("retention has %q, and another rule for %s", item, org)
		}
		rules[org] = age
	}
	return rules, nil
}

// RedactPatterns are what is kept out of log and audit.
func (c Config) RedactPatterns() ([]*regexp.Regexp, error) {
	var list []*regexp.Regexp
	for _, item := range c.LogRedact {
		p, err := regexp.Compile(item)
		if err == nil && p.MatchString("") {
			err = errors.New("it matches nothing at all, too")
		}
		if err != nil {
			return nil, fmt.Errorf("log_redact has %q; it must be a regular expression (RE2): %w", item, err)
		}
		list = append(list, p)
	}
	return list, nil
}

func (c Config) checkOrigins() error {
	for _, o := range c.Origins {
		if o != "*" && (!webAddress(o) || strings.Count(o, "/") != 2) {
			return fmt.Errorf("cors_origins has %q; it must be an origin such as https://example.org", o)
		}
	}
	return nil
}

func (c Config) checkTiers() error {
	for _, t := range c.Tiers.List() {
		if !oneOf(t.Effort, "", footnote.EffortOff, "low", "medium", "high", "xhigh", "max") {
			return fmt.Errorf("tiers.%s_effort is %q; it must be off, low, medium, high, xhigh or max", t.Name, t.Effort)
		}
		if t.Multiplier < 1 || t.Multiplier > 1000 {
			return fmt.Errorf("tiers.%s_multiplier is \"%d\"; it must be 1 to 1000", t.Name, t.Multiplier)
		}
	}
	return nil
}

func (c Config) checkTools() error {
	policy := agent.Policy{Offer: c.Tools.Offer, Approve: c.Tools.Approve, Deny: c.Tools.Deny}
	if err := policy.Check(); err != nil {
		return err
	}
	coder := agent.Policy{Offer: c.Coder.Ask, Approve: c.Coder.Allow, Deny: c.Coder.Deny}
	if err := coder.Check(); err != nil {
		return fmt.Errorf("coder: %w", err)
	}
	return nil
}

// CheckSource reports what cannot be right about the name and address of a source.
// The address, which may hold a password, is not in the error.
func CheckSource(name, address string) error {
	if !validName(name) {
		return fmt.Errorf("sources has the name %q; it must be of letters, digits, - and _", name)
	}
	if address == "" {
		return fmt.Errorf("sources: the source %s has no path", name)
	}
	if m := addressScheme.FindStringSubmatch(address); m != nil && !oneOf(m[1], "sqlite", "duckdb", "file") {
		return fmt.Errorf("sources.%s: the scheme %s is not supported yet: use sqlite:, duckdb:, file: or a path", name, m[1])
	}
	return nil
}

// addressScheme is how an address begins that is no path. One letter is the drive of
// a Windows path, and jdbc: stands before another scheme.
var addressScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):(?:[A-Za-z][A-Za-z0-9+.-]*:)?//`)

// webAddress reports whether a string is an absolute http or https URL.
func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// checkListen refuses to be reachable by others without keys.
func (c Config) checkListen() error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen is %q; it must be an address and a port, such as 127.0.0.1:8787", c.Listen)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("listen is %q; the port must be a number from 0 to 65535", c.Listen)
	}
	ip := net.ParseIP(host)
	loopback := host == "localhost" || ip != nil && ip.IsLoopback()
	if !loopback && !c.NeedsKey() {
		return fmt.Errorf("listen is %q, which others can reach, but api_keys is empty: set FOOTNOTE_API_KEYS, auth.jwt, or auth.required with keys of footnote keys, or listen on 127.0.0.1", c.Listen)
	}
	seen := map[Secret]bool{}
	for i, k := range c.APIKeys {
		if len(k.Key) < 16 && !loopback {
			return fmt.Errorf("api_keys entry %d is shorter than 16 characters, too short for an address others can reach", i+1)
		}
		if weak(string(k.Key)) {
			return fmt.Errorf("api_keys entry %d must have at least 8 characters, all of them printable ASCII and no blanks", i+1)
		}
		if seen[k.Key] {
			return fmt.Errorf("api_keys entry %d is there twice", i+1)
		}
		seen[k.Key] = true
	}
	return nil
}

// weak reports whether a key is one that the server refuses.
func weak(key string) bool {
	return len(key) < 8 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Principals maps each key to who it stands for.
func (c Config) Principals() map[string]footnote.Principal {
	out := map[string]footnote.Principal{}
	for _, k := range c.APIKeys {
		out[string(k.Key)] = footnote.Principal{Org: k.Org, User: k.User, Roles: k.Roles, Attributes: k.Attributes}
	}
	return out
}

func oneOf(s string, list ...string) bool {
	for _, item := range list {
		if s == item {
			return true
		}
	}
	return false
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
