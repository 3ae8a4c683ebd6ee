package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/access"
	"github.com/footnotehq/footnote/internal/apikey"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/internal/token"
)

// Check returns an error for the first invalid setting.
func (c Config) Check() error {
	if err := checkTags(reflect.ValueOf(c), ""); err != nil {
		return err
	}
	for _, k := range c.bounds() {
		if !k.ok {
			return fmt.Errorf("%s is %q; it must be %s", k.name, fmt.Sprint(k.got), k.want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		if err := CheckSource(name, c.Sources[name]); err != nil {
			return err
		}
	}
	_, retention := c.RetentionRules()
	_, redaction := c.RedactPatterns()
	return cmp.Or(retention, redaction, c.checkUpstream(), c.checkFilters(), c.checkTables(), c.checkFunctions(),
		c.checkOrigins(), c.MCP.check(c.Auth.JWT.Issuer),
		c.checkLimits(), c.Auth.JWT.check(), c.checkAccess(), c.checkTools(), c.Cache.check(), c.checkListen(),
		c.checkKeys(), c.Tests.check(c.Upstream))
}

// checkUpstream rejects combinations of model settings that cannot work.
func (c Config) checkUpstream() error {
	switch {
	case c.Upstream == Anthropic && c.APIKey == "":
		return errors.New(`upstream is "anthropic", but model_key (ANTHROPIC_API_KEY) is not set`)
	case c.Upstream == Compatible && c.BaseURL == "":
		return errors.New(`upstream is "compatible", but base_url (ANTHROPIC_BASE_URL) is not set`)
	}
	return nil
}

// checkElsewhere refuses a base_url on another machine without a key or an explicitly named upstream, because the
// environment may set the address for other programs.
func (c Config) checkElsewhere(named bool) error {
	if named || c.Upstream != Compatible || c.APIKey != "" || loopback(hostOf(c.BaseURL)) {
		return nil
	}
	return fmt.Errorf("base_url is %q, another machine, but model_key is not set: set upstream to compatible "+
		"to send questions and query results there without a key, or model to offline to keep them here",
		withoutUser(c.BaseURL))
}

// providerKey is the prefix of keys of Anthropic's Messages API.
const providerKey = "sk-ant-"

// checkKeys rejects a model's key that cannot be one, and a key that is both the model's and a caller's.
func (c Config) checkKeys() error {
	switch key := string(c.APIKey); {
	case strings.HasPrefix(bareKey(c.APIKey), apikey.Prefix):
		return errors.New("model_key is a key made by footnote keys, which is for callers of this server; " +
			"set it to the key of the model's server")
	case bearer.MatchString(key):
		return errors.New("model_key begins with the word Bearer, which is part of the header: remove it and set " +
			"only the key")
	case strings.ContainsAny(key, quotes):
		return errors.New("model_key contains quotes, which would be sent as part of the key: remove them")
	case strings.ContainsFunc(key, unicode.IsSpace):
		return errors.New("model_key contains a space or a line break: remove it")
	}
	for i, k := range c.APIKeys {
		switch {
		case bareKey(k.Key) == bareKey(c.APIKey):
			return fmt.Errorf("api_keys entry %d equals model_key: give callers a key of their own, "+
				"or they hold the key of the model's server", i+1)
		case strings.HasPrefix(bareKey(k.Key), providerKey):
			return fmt.Errorf("api_keys entry %d begins with %s, like a provider key: "+
				"set that as model_key, and give callers a key of their own", i+1, providerKey)
		}
	}
	return nil
}

const quotes = "\"'`“”‘’"

// bearer matches the prefix of a key in a header.
var bearer = regexp.MustCompile(`(?i)^[\s"']*bearer\s`)

// bareKey returns a key without what is easily pasted along with it.
func bareKey(k Secret) string {
	return strings.Trim(bearer.ReplaceAllString(string(k), ""), quotes+" \t\r\n")
}

// bound is a condition on one setting, and its current value.
type bound struct {
	name string
	ok   bool
	got  any
	want string
}

// checkTags checks the settings that have the tag must.
func checkTags(settings reflect.Value, prefix string) error {
	for field, v := range settings.Fields() {
		name, must := prefix+field.Tag.Get("yaml"), field.Tag.Get("must")
		if v.Kind() == reflect.Struct {
			if err := checkTags(v, name+"."); err != nil {
				return err
			}
		}
		if must == "" || v.IsZero() && field.Tag.Get("empty") != "" {
			continue
		}
		ok := false
		if v.Kind() == reflect.String {
			words := strings.Split(strings.ReplaceAll(must, " or ", ", "), ", ")
			ok = slices.Contains(words, v.String())
		} else {
			ok = within(v, must)
		}
		if !ok {
			return fmt.Errorf("%s is %q; it must be %s", name, fmt.Sprint(v.Interface()), must)
		}
	}
	return nil
}

// within reports whether a number or duration is in a range in words: "1 to 1000", "100 or more", "more than 0", "more
// than 0 and at most 1h" or "0, or 4 to 10000".
func within(v reflect.Value, words string) bool {
	if rest, ok := strings.CutPrefix(words, "0, or "); ok {
		return v.IsZero() || within(v, rest)
	}
	bound := func(text string) float64 {
		b := reflect.New(v.Type()).Elem()
		if err := assign(b, text); err != nil {
			panic(fmt.Sprintf("the bound %q of a setting: %v", text, err))
		}
		return number(b)
	}
	n := number(v)
	if most, ok := strings.CutPrefix(words, "more than 0 and at most "); ok {
		return n > 0 && n <= bound(most)
	}
	if words == "more than 0" {
		return n > 0
	}
	least, most, ok := strings.Cut(strings.TrimSuffix(words, " or more"), " to ")
	return n >= bound(least) && (!ok || n <= bound(most))
}

// upTo requires a positive duration up to a limit, which limit names.
func upTo(name string, got, maximum time.Duration, limit string) bound {
	return bound{name, got > 0 && got <= maximum, got, "more than 0 and at most " + limit}
}

// bounds returns the conditions that depend on other settings, and those on addresses and files.
func (c Config) bounds() []bound {
	const store = "postgres://user:password@host/database with the special characters of the password written as %XX"
	l := c.Limits
	return []bound{
		upTo("tool_timeout", c.ToolTimeout, c.RunTimeout, "run_timeout"),
		upTo("run_timeout", c.RunTimeout, c.HTTPTimeout, "http_timeout"),
		upTo("limits.query_time", l.QueryTime, c.ToolTimeout, "tool_timeout"),
		{
			"limits.child_memory", l.ChildMemory == 0 || l.ChildMemory >= max(l.QueryMemory, l.LoadMemory)+128<<20,
			l.ChildMemory, "0, or 134217728 more than limits.query_memory and limits.load_memory",
		},
		{"coder.org_history", c.Coder.OrgHistory >= c.Coder.History, c.Coder.OrgHistory, "at least coder.history"},
		{"traces.headers", c.Traces.Header() != nil, c.Traces.Headers, "name=value, separated by commas"},
		{"data", c.Data != "", c.Data, "a folder"},
		{"store", c.Store == "" || PostgresURL(string(c.Store)), c.Store, "empty, or " + store},
		{
			"redis", c.Redis == "" || redisURL(string(c.Redis)), c.Redis,
			"empty, or redis://user:password@host:6379/0, rediss:// with TLS, or unix:///path/of/its/socket",
		},
		{
			"cache.secret", c.Cache.Secret == "" || len(c.Cache.Secret) >= 32, c.Cache.Secret,
			"empty, or at least 32 characters, such as from openssl rand -base64 32",
		},
		{
			"market.store", !strings.Contains(string(c.Market.Store), "://") || PostgresURL(string(c.Market.Store)),
			c.Market.Store, "empty, a file, or " + store,
		},
		{
			"market.feed", slices.Contains([]Secret{"", Replay}, c.Market.Feed) ||
				webAddress(string(c.Market.Feed), "ws", "wss"),
			c.Market.Feed, "replay, or a URL with http, https, ws or wss",
		},
		{"log_file", c.LogFile != "" || c.LogOutput == "stdout", c.LogFile, "a file, because log_output names one"},
		{"model", c.Model != "", c.Model, "a model"},
		{
			"traces.endpoint", c.Traces.Endpoint == "" || webAddress(c.Traces.Endpoint), withoutUser(c.Traces.Endpoint),
			"empty, or an address such as http://127.0.0.1:4318",
		},
		{
			"tests.webhook", c.Tests.Webhook == "" || webAddress(string(c.Tests.Webhook)), c.Tests.Webhook,
			"empty, or an address such as https://hooks.example/tests",
		},
		{
			"base_url", c.BaseURL == "" || webAddress(c.BaseURL), withoutUser(c.BaseURL),
			"an address such as http://127.0.0.1:11434",
		},
	}
}

// CheckFiltered rejects filters for sources that are in none of the given maps: the rows they should hide would be
// shown.
func (c Config) CheckFiltered(names ...map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(c.Filters)) {
		if !slices.ContainsFunc(names, func(m map[string]string) bool { _, ok := m[name]; return ok }) {
			return fmt.Errorf("filters has the source %q, which is not configured", name)
		}
	}
	return nil
}

// checkFilters rejects invalid filters. Errors that only the database can detect appear when it is opened.
func (c Config) checkFilters() error {
	for _, name := range slices.Sorted(maps.Keys(c.Filters)) {
		switch {
		case !validName(name):
			return fmt.Errorf("filters has the source %q; a name may contain letters, digits, - and _", name)
		case len(c.Filters[name]) == 0:
			return fmt.Errorf("filters.%s names no tables, so that nothing of it could be read", name)
		}
		if _, err := rowfilter.Parse(c.Filters[name]); err != nil {
			return fmt.Errorf("filters.%s.%w", name, err)
		}
	}
	return nil
}

// checkTables rejects malformed entries of tables. Names that no table has appear when the source is opened.
func (c Config) checkTables() error {
	for _, name := range slices.Sorted(maps.Keys(c.Tables)) {
		t := c.Tables[name]
		if _, ok := c.Sources[name]; !ok {
			return fmt.Errorf("tables has the source %q, which is not configured", name)
		}
		for _, n := range slices.Concat(t.Include, t.Exclude, slices.Sorted(maps.Keys(t.Descriptions))) {
			if n == "" || len(n) > 200 || strings.ContainsFunc(n, unicode.IsControl) {
				return fmt.Errorf("tables.%s has the name %.80q; write table or schema.table, with * for any text",
					name, n)
			}
		}
		for n, text := range t.Descriptions {
			if text == "" || len(text) > 2000 {
				return fmt.Errorf("tables.%s.descriptions.%s must have 1 to 2000 bytes", name, n)
			}
		}
	}
	return nil
}

// checkFunctions rejects malformed entries of functions.
func (c Config) checkFunctions() error {
	for _, entry := range c.Functions {
		name, function, _ := strings.Cut(entry, "=")
		if !validName(strings.TrimSpace(name)) || strings.TrimSpace(function) == "" {
			return fmt.Errorf("functions has %q; it must be a source's name, = and a function with its schema "+
				"or an extension, such as shop=public.net_price", entry)
		}
	}
	return nil
}

// checkAccess rejects invalid access rules.
func (c Config) checkAccess() error {
	if len(c.Access) > 0 && !c.NeedsKey() {
		return errors.New("access has rules, but callers need no key, so they are all one user: set auth.required, " +
			"api_keys or auth.jwt")
	}
	_, err := access.New(c.Access, nil)
	return err
}

// check returns an error if the token settings are invalid.
func (j JWT) check() error {
	if j.Issuer == "" {
		if j.Audience != "" || j.Keys != "" {
			return errors.New("auth.jwt.issuer is not set, but other settings of auth.jwt are")
		}
		return nil
	}
	if j.Audience == "" {
		return errors.New("auth.jwt.audience is not set; it must be what the issuer calls this server, or tokens for " +
			"others would be believed")
	}
	if strings.Contains(j.Keys, "://") && !token.Safe(j.Keys) {
		return fmt.Errorf("auth.jwt.keys is %q; it must be https, or on this machine, or a file", withoutUser(j.Keys))
	}
	if j.Keys == "" && !token.Safe(j.Issuer) {
		return fmt.Errorf("auth.jwt.issuer is %q; without auth.jwt.keys it must be an https address",
			withoutUser(j.Issuer))
	}
	for _, a := range j.Algorithms {
		if !slices.Contains(token.Algorithms, a) {
			return fmt.Errorf("auth.jwt.algorithms has %q; it must be of %s", a, strings.Join(token.Algorithms, ", "))
		}
	}
	return nil
}

// RetentionRules returns how long each organisation keeps conversations.
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

// RedactPatterns returns the patterns to remove from the log and the audit.
func (c Config) RedactPatterns() ([]*regexp.Regexp, error) {
	var list []*regexp.Regexp
	for _, item := range c.LogRedact {
		p, err := regexp.Compile(item)
		if err == nil && p.MatchString("") {
			err = errors.New("it also matches the empty string")
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

func (c Cache) check() error {
	for _, entry := range c.Tools {
		name, value, _ := strings.Cut(entry, "=")
		if d, err := time.ParseDuration(value); err != nil || name == "" || d < 0 || d > longestTTL {
			return fmt.Errorf("cache.tools has %q; it must be a tool's name, = and a duration of at most 24h, such "+
				"as run_query=1m", entry)
		}
	}
	for _, entry := range c.Versions {
		name, sql, _ := strings.Cut(entry, "=")
		if strings.TrimSpace(name) == "" || strings.TrimSpace(sql) == "" {
			return fmt.Errorf("cache.versions has %q; it must be a source's name, = and a statement, such as "+
				"sales=SELECT max(loaded_at) FROM loads", entry)
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

// CheckSource returns an error if a source has no valid name or no address. Which addresses can be opened is the
// engines' matter. The error never contains the address, which may hold a password.
func CheckSource(name, address string) error {
	if !validName(name) {
		return fmt.Errorf("sources has the name %q; it must be of letters, digits, - and _", name)
	}
	if address == "" {
		return fmt.Errorf("sources: the source %s has no path", name)
	}
	return nil
}

// webAddress reports whether a string is an absolute URL whose scheme is http, https or one of some others.
func webAddress(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && slices.Contains(append(schemes, "http", "https"), u.Scheme) && u.Hostname() != ""
}

// checkListen refuses to listen on a non-loopback address without keys.
func (c Config) checkListen() error {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen is %q; it must be an address and a port, such as 127.0.0.1:8787", c.Listen)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("listen is %q; the port must be a number from 0 to 65535", c.Listen)
	}
	local := loopback(host)
	if !local && !c.NeedsKey() {
		return fmt.Errorf("listen is %q, which is reachable from other machines, but api_keys is empty: "+
			"set FOOTNOTE_API_KEYS, auth.jwt, or auth.required with keys of footnote keys, or listen on 127.0.0.1",
			c.Listen)
	}
	seen := map[Secret]bool{}
	for i, k := range c.APIKeys {
		if len(k.Key) < 16 && !local {
			return fmt.Errorf("api_keys entry %d is shorter than 16 characters, too short for an address others can "+
				"reach", i+1)
		}
		if weak(string(k.Key)) {
			return fmt.Errorf("api_keys entry %d must have at least 8 characters, all of them printable ASCII and no "+
				"blanks", i+1)
		}
		if seen[k.Key] {
			return fmt.Errorf("api_keys entry %d is listed twice", i+1)
		}
		if err := k.principal().Check(); err != nil {
			return fmt.Errorf("api_keys entry %d: %w", i+1, err)
		}
		seen[k.Key] = true
	}
	return nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// weak reports whether the server rejects a key as too weak.
func weak(key string) bool {
	return len(key) < 8 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' })
}
