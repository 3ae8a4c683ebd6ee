package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/apikey"
)

// file writes a configuration file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "footnote.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// settings returns all settings by name, with the index of their field.
func settings(t reflect.Type, prefix string, index []int) map[string][]int {
	all := map[string][]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, at := prefix+f.Tag.Get("yaml"), append(index[:len(index):len(index)], i)
		if f.Type.Kind() == reflect.Struct {
			for n, x := range settings(f.Type, name+".", at) {
				all[n] = x
			}
			continue
		}
		if f.Type.Kind() == reflect.Map && name != "sources" && name != "filters" {
			continue // it can only be set in a file
		}
		all[name] = at
	}
	return all
}

// three holds, for each setting, a value for the file, one for the environment and one for a flag.
var testValues = map[string][3]string{
	"listen": {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, "data": {"d1", "d2", "d3"},
	"store": {"postgres://one/db", "postgresql://two/db", "postgres://me:pw@three:5433/db?sslmode=require"},
	"api_keys": {
		`["key-one-0123456789=acme/one"]`, "key-two-0123456789",
		"key-three-0123456789=acme/three,key-four-0123456789=x/y",
	},
	"accept_unproven": {`["lake"]`, "lake,mart", "mart"}, "cors_origins": {`["https://one.example"]`, "https://two.example", "*"},
	"filters":      {`{shop: {t: all}}`, `{shop: {t: "org = {org}"}}`, `{"shop": {"t": "org = {user}", "u": "all"}}`},
	"functions":    {`["a=public.f"]`, "b=postgis", "c=public.f,d=pgcrypto"},
	"redis":        {"redis://one:6379/0", "rediss://:pw@two", "unix:///tmp/three.sock"},
	"market.store": {"a.db", "postgres://a@b.example/c", "c.db"},
	"market.feed":  {"replay", "https://prices.example/stream", "wss://prices.example/ws"},
	"sources":      {`{"one": "1.db"}`, "two=2.db", "three=3.db"},
	"upstream":     {"compatible", "anthropic", "compatible"}, "base_url": {"http://one", "http://two", "http://three"},
	"model_key": {"k1", "k2", "k3"},
	"model":     {"m1", "m2", "m3"}, "fallback_models": {`["a"]`, "b,c", "d"}, "max_tokens": {"1001", "1002", "1003"},
	"effort": {"low", "high", "max"}, "prices": {"p1", "p2", "p3"},
	"model_idle_timeout": {"1s", "2s", "3s"}, "input_max_chars": {"1", "2", "3"}, "max_turns": {"1", "2", "3"},
	"marks":          {"on", "off", "auto"},
	"max_budget_usd": {"0.1", "0.2", "0.3"},
	"run_timeout":    {"101s", "102s", "103s"}, "tool_timeout": {"51s", "52s", "53s"},
	"http_timeout": {"301s", "302s", "303s"}, "drain_timeout": {"1s", "2s", "3s"},
	"upload_limit": {"2001", "2002", "2003"}, "body_limit": {"2001", "2002", "2003"},
	"limits.query_time": {"1s", "2s", "3s"}, "limits.query_rows": {"1", "2", "3"},
	"limits.query_bytes":  {"2001", "2002", "2003"},
	"limits.query_memory": {"70000001", "70000002", "70000003"},
	"limits.load_memory":  {"200000001", "200000002", "200000003"},
	"limits.child_memory": {"9000000001", "9000000002", "9000000003"},
	"limits.export_time":  {"1s", "2s", "3s"}, "limits.export_rows": {"1", "2", "3"},
	"limits.estimate.rows": {"1", "2", "3"}, "limits.estimate.bytes": {"1", "2", "3"},
	"limits.estimate.usd": {"0.5", "1.5", "2"}, "limits.estimate.then": {"refuse", "approve", "refuse"},
	"limits.streams": {"101", "102", "103"}, "limits.streams_per_user": {"11", "12", "13"},
	"tools.offer": {`["a"]`, "b", "c"}, "tools.approve": {`["a"]`, "b", "c*,d"}, "tools.deny": {`["a"]`, "b", "c"},
	"log_output": {"file", "both", "file"}, "log_file": {"a1", "a2", "a3"}, "log_verbose": {"true", "false", "true"},
	"log_level": {"debug", "warn", "error"},
	"on_busy":   {"enqueue", "interrupt", "enqueue"}, "retention": {`["a=1h"]`, "b=2d", "*=3h,c=4h"},
	"log_redact": {`["a+"]`, "b+", "c+,d"}, "max_history_length": {"4", "50", "60"},
	"conversation_cache_ttl": {"1m", "2m", "3m"}, "conversation_max_events": {"100", "200", "300"},
	"limits.default.requests_per_minute": {"1", "2", "3"}, "limits.default.org_requests_per_minute": {"1", "2", "3"},
	"limits.default.runs": {"1", "2", "3"}, "limits.default.org_runs": {"1", "2", "3"},
	"limits.default.tokens_per_day": {"1", "2", "3"}, "limits.default.org_tokens_per_day": {"1", "2", "3"},
	"limits.default.usd_per_run": {"0.5", "1.5", "2"}, "limits.default.usd_per_conversation": {"0.5", "1.5", "-1"},
	"limits.default.usd_per_user": {"0.5", "1.5", "-1"}, "limits.default.usd_per_user_day": {"0.5", "1.5", "-1"},
	"limits.default.usd_per_org": {"0.5", "1.5", "-1"}, "limits.default.usd_per_org_day": {"0.5", "1.5", "-1"},
	"limits.default.usd_per_day": {"0.5", "1.5", "-1"}, "limits.budget_wait": {"1s", "2s", "3s"},
	"limits.replicas": {"2", "3", "4"},
	"on_disconnect":   {"continue", "cancel", "continue"}, "stored_on_disconnect": {"cancel", "continue", "cancel"},
	"park_timeout": {"1s", "2s", "3s"}, "tokens_per_day": {"1", "2", "3"},
	"tiers.pro_model": {"m1", "m2", "m3"}, "tiers.pro_effort": {"off", "high", "low"},
	"tiers.pro_multiplier": {"2", "3", "4"},
	"tiers.high_model":     {"m1", "m2", "m3"}, "tiers.high_effort": {"off", "high", "low"},
	"tiers.high_multiplier": {"2", "3", "4"},
	"tiers.low_model":       {"m1", "m2", "m3"}, "tiers.low_effort": {"off", "high", "low"},
	"tiers.low_multiplier": {"2", "3", "4"},
	"cache.ttl":            {"1m", "2m", "0s"}, "cache.tools": {`["a=1s"]`, "b=2s", "c=3s,d=0s"},
	"cache.versions": {`["a=SELECT 1"]`, "b=SELECT 2", "c=SELECT 3,d=SELECT 4"},
	"cache.secret": {
		"one-one-one-one-one-one-one-one-one", "two-two-two-two-two-two-two-two-two",
		"three-three-three-three-three-three",
	},
	"cache.bytes": {"2000001", "2000002", "2000003"}, "cache.entries": {"1", "2", "3"},
	"context":   {"c1", "c2", "c3"},
	"workspace": {"w1", "w2", "w3"}, "coder.allow": {`["Edit"]`, "Write", "Bash"},
	"coder.ask": {`["Read"]`, "Glob", "Grep"}, "coder.deny": {`["Bash"]`, "Edit", "*"},
	"coder.command_time": {"1s", "2s", "3s"}, "coder.command_memory": {"67108865", "67108866", "67108867"},
	"coder.size":    {"1048577", "1048578", "1048579"},
	"coder.history": {"1048577", "1048578", "1048579"}, "coder.org_history": {"1073741825", "1073741826", "1073741827"},
	"slow_response":   {"1s", "2s", "3s"},
	"mcp.url":         {"https://a.example/mcp", "https://b.example/mcp", "http://localhost/mcp"},
	"tools.trust":     {`["mcp__a__*"]`, "b,c", "d"},
	"mcp.table_tools": {"true", "true", "true"}, "mcp.sign_in": {"true", "false", "true"},
	"traces.endpoint": {"http://one:4318", "https://two", "http://three/otlp"},
	"traces.headers":  {"a=1", "b=2", "c=3,d=4"}, "traces.ratio": {"0.5", "0.1", "0.2"},
	"traces.content": {"true", "false", "true"},
	"results.keep":   {"1h", "48h", "0s"},
	"tests.suite":    {"s1.yaml", "s2.yaml", "s3.yaml"}, "tests.schedule": {"1h", "2h", "3h"},
	"tests.webhook": {"http://one/a", "https://two/b", "https://three/c"}, "tests.live": {"true", "false", "true"},
	"auth.required": {"true", "false", "true"},
	"access": {
		`[{orgs: [one]}]`, `[{users: [two], sources: ["*"]}]`, `[{"orgs": ["x"], "models": ["*"]}, {}]`,
	},
	"auth.jwt.issuer":   {"https://one.example", "https://two.example", "https://three.example"},
	"auth.jwt.audience": {"one", "two", "three"}, "auth.jwt.keys": {"1.json", "2.json", "3.json"},
	"auth.jwt.algorithms": {`["RS256"]`, "ES256,RS512", "EdDSA"}, "auth.jwt.org": {"one", "two", "three"},
	"auth.jwt.org_claim": {"one", "two", "three"}, "auth.jwt.user_claim": {"one", "two", "three"},
	"auth.jwt.roles_claim": {"one", "two", "three"}, "auth.jwt.attribute_claims": {`["one"]`, "two,b", "three"},
}

func variable(name string) string {
	return "FOOTNOTE_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

func onlyInFile(name string) bool {
	return name == "tools.own" || name == "tools.search" || name == "mcp_servers"
}

// yamlOf returns the content of a file with one setting.
func yamlOf(name, value string) string {
	outer, inner, nested := strings.Cut(name, ".")
	if nested {
		return outer + ":\n  " + strings.ReplaceAll(yamlOf(inner, value), "\n  ", "\n    ")
	}
	return fmt.Sprintf("%s: %s\n", name, value)
}

func TestSettingPrecedence(t *testing.T) {
	for name, index := range settings(reflect.TypeFor[config.Config](), "", nil) {
		if onlyInFile(name) {
			continue
		}
		values, ok := testValues[name]
		if !ok {
			t.Errorf("the setting %s has no values here", name)
			continue
		}
		get := func(yaml string, env []string, flag string) any {
			t.Helper()
			flags := map[string]string{"model_key": "k0", "base_url": "http://zero"} // so that every upstream is valid
			if name == "model_key" {
				flags["upstream"] = "compatible" // works without a key
			}
			if name == "mcp.sign_in" {
				flags["mcp.url"] = "https://zero.example/mcp"
			}
			if name == "access" {
				flags["auth.required"] = "true"
			}
			if strings.HasPrefix(name, "auth.jwt.") {
				flags["auth.jwt.issuer"], flags["auth.jwt.audience"] = "https://zero.example", "zero"
			}
			if strings.HasPrefix(name, "tests.") {
				flags["tests.suite"] = "zero.yaml"
			}
			if name == "tests.live" || name == "tests.webhook" {
				flags["tests.schedule"] = "24h"
			}
			delete(flags, name)
			if name == "auth.jwt.audience" && yaml == "" && env == nil && flag == "" {
				flags[name] = "default" // this setting has no flag
			}
			if name == "auth.jwt.issuer" && yaml == "" && env == nil && flag == "" {
				delete(flags, "auth.jwt.audience") // it requires the setting under test
			}
			if flag != "" {
				flags[name] = flag
			}
			c, err := config.Load(file(t, yaml), env, flags)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if name == "sources" {
				return len(c.Sources) // sources accumulate
			}
			return reflect.ValueOf(c).FieldByIndex(index).Interface()
		}
		inFile, env := yamlOf(name, values[0]), []string{variable(name) + "=" + values[1]}
		plain := strings.NewReplacer(`["`, "", `"]`, "", `{"one": "`, "one=", `"}`, "").Replace(values[0])
		if name == "sources" {
			if one, two, three := get(inFile, nil, ""), get(inFile, env, ""),
				get(inFile, env, values[2]); one != 1 || two != 2 || three != 3 {
				t.Errorf("sources: %v, %v, %v", one, two, three)
			}
			continue
		}
		for what, c := range map[string][2]any{
			"the file":               {get(inFile, nil, ""), get("", nil, plain)},
			"the environment":        {get("", env, ""), get("", nil, values[1])},
			"environment over file":  {get(inFile, env, ""), get("", nil, values[1])},
			"a flag over everything": {get(inFile, env, values[2]), get("", nil, values[2])},
		} {
			if !reflect.DeepEqual(c[0], c[1]) {
				t.Errorf("%s: %s gives %v, want %v", name, what, c[0], c[1])
			}
		}
		if def := get("", nil, ""); reflect.DeepEqual(def, get(inFile, nil, "")) &&
			reflect.DeepEqual(def, get("", env, "")) {
			t.Errorf("%s: nothing changes it from %v", name, def)
		}
	}
}

func TestSettingsThatPreventStart(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		env  []string
		flag map[string]string
		want []string // all must be in the message
	}{
		"unknown key": {yaml: "max_truns: 7\n", want: []string{"line 1", `"max_truns"`, `"7"`}},
		"unknown nested key": {
			yaml: "limits:\n  query_row: 7\n",
			want: []string{"line 2", `"limits.query_row"`, `"7"`},
		},
		"unknown key of a key": {
			yaml: "api_keys: [{key: abc, organisation: x}]",
			want: []string{`"api_keys.organisation"`},
		},
		"unknown variable":       {env: []string{"FOOTNOTE_MAX_TRUNS=7"}, want: []string{"FOOTNOTE_MAX_TRUNS", `"7"`}},
		"unknown empty variable": {env: []string{"FOOTNOTE_MAX_TRUNS="}, want: []string{"FOOTNOTE_MAX_TRUNS"}},
		"unknown flag":           {flag: map[string]string{"max_truns": "7"}, want: []string{`"max_truns"`, `"7"`}},
		"invalid MAX_HISTORY_LENGTH": {
			env:  []string{"MAX_HISTORY_LENGTH=many"},
			want: []string{"MAX_HISTORY_LENGTH", `"many"`},
		},
		"MAX_HISTORY_LENGTH below its minimum": {
			env:  []string{"MAX_HISTORY_LENGTH=1"},
			want: []string{"MAX_HISTORY_LENGTH", `"1"`},
		},
		"TOOL_EXECUTION_TIMEOUT with a unit": {
			env:  []string{"TOOL_EXECUTION_TIMEOUT=30s"},
			want: []string{"TOOL_EXECUTION_TIMEOUT", `"30s"`, "milliseconds"},
		},
		"TOOL_EXECUTION_TIMEOUT of zero": {
			env:  []string{"TOOL_EXECUTION_TIMEOUT=0"},
			want: []string{"TOOL_EXECUTION_TIMEOUT", `"0"`},
		},
		"CACHE_TTL_TOOL_RESULTS with a unit": {
			env:  []string{"CACHE_TTL_TOOL_RESULTS=5m"},
			want: []string{"CACHE_TTL_TOOL_RESULTS", `"5m"`, "seconds"},
		},
		"cache too long": {env: []string{"FOOTNOTE_CACHE_TTL=25h"}, want: []string{"cache.ttl", "25h"}},
		"cache, no statement": {
			env:  []string{"FOOTNOTE_CACHE_VERSIONS=shop"},
			want: []string{"cache.versions", `"shop"`},
		},
		"functions without a name": {env: []string{"FOOTNOTE_FUNCTIONS=shop"}, want: []string{"functions", `"shop"`}},
		"cache of a tool": {
			env:  []string{"FOOTNOTE_CACHE_TOOLS=run_query"},
			want: []string{"cache.tools", `"run_query"`},
		},
		"own tool from outside": {env: []string{"FOOTNOTE_TOOLS_OWN=x"}, want: []string{"FOOTNOTE_TOOLS_OWN", "file"}},
		"own tool, unknown key": {yaml: "tools: {own: [{name: a, query: b}]}", want: []string{`"tools.own.query"`}},
		"negative CACHE_TTL_CONVERSATION": {
			env:  []string{"CACHE_TTL_CONVERSATION=-1"},
			want: []string{"CACHE_TTL_CONVERSATION", `"-1"`, "seconds"},
		},
		"unknown LOG_LEVEL": {env: []string{"LOG_LEVEL=loud"}, want: []string{"LOG_LEVEL", `"loud"`, "debug"}},
		"invalid ENABLE_DEBUG_LOGS": {
			env:  []string{"ENABLE_DEBUG_LOGS=perhaps"},
			want: []string{"ENABLE_DEBUG_LOGS", `"perhaps"`},
		},
		"retention without org": {
			env:  []string{"FOOTNOTE_RETENTION=90d"},
			want: []string{"retention", `"90d"`, "acme=90d"},
		},
		"short retention": {
			env:  []string{"FOOTNOTE_RETENTION=a=1m"},
			want: []string{"retention", `"a=1m"`, "1h"},
		},
		"retention twice": {
			env:  []string{"FOOTNOTE_RETENTION=a=1d,a=2d"},
			want: []string{"retention", `"a=2d"`},
		},
		"negative retention": {env: []string{"FOOTNOTE_RETENTION=a=-1d"}, want: []string{"retention", `"a=-1d"`}},
		"bad pattern":        {env: []string{"FOOTNOTE_LOG_REDACT=("}, want: []string{"log_redact", `"("`}},
		"greedy pattern":     {env: []string{"FOOTNOTE_LOG_REDACT=a*"}, want: []string{"log_redact", `"a*"`}},
		"bad number": {
			env:  []string{"FOOTNOTE_MAX_TURNS=many"},
			want: []string{"FOOTNOTE_MAX_TURNS", `"many"`, "whole number"},
		},
		"bad number in the file": {
			yaml: "max_turns: many",
			want: []string{"line 1", "max_turns", `"many"`, "whole number"},
		},
		"bad float": {
			env:  []string{"FOOTNOTE_MAX_BUDGET_USD=NaN"},
			want: []string{"max_budget_usd", "NaN"},
		},
		"endless money": {
			env:  []string{"FOOTNOTE_MAX_BUDGET_USD=Inf"},
			want: []string{"max_budget_usd", "Inf"},
		},
		"bad bool": {
			env:  []string{"FOOTNOTE_LOG_VERBOSE=ja"},
			want: []string{"FOOTNOTE_LOG_VERBOSE", `"ja"`},
		},
		"bad duration": {
			env:  []string{"FOOTNOTE_RUN_TIMEOUT=5"},
			want: []string{"FOOTNOTE_RUN_TIMEOUT", `"5"`, "30s"},
		},
		"duration without unit": {yaml: "run_timeout: 240", want: []string{"run_timeout", `"240"`, "30s"}},
		"a list for one value":  {yaml: "model: [a]", want: []string{"model", "one value"}},
		"one value for a list":  {yaml: "cors_origins: x", want: []string{"cors_origins", "a list"}},
		"one value for a group": {yaml: "limits: 5", want: []string{"limits"}},
		"no mapping":            {yaml: "- a", want: []string{"the file"}},
		"twice":                 {yaml: "model: a\nmodel: b\n", want: []string{"line 2", "model", "line 1"}},
		"source twice":          {yaml: "sources:\n  a: x\n  a: y\n", want: []string{"line 3", "sources.a", "line 2"}},
		"unknown list":          {yaml: "model: x\nfoo: [1]\n", want: []string{"line 2", `"foo"`, "[…]"}},
		"unknown group":         {yaml: "foo:\n  bar: 1\n", want: []string{"line 1", `"foo"`, "{…}"}},
		"short key at home": {
			yaml: "api_keys: [long-enough, short]",
			want: []string{"api_keys entry 2", "8 characters"},
		},
		"key with a blank": {yaml: "api_keys: [a key of words]", want: []string{"api_keys entry 1", "ASCII"}},
		"no base URL": {
			env:  []string{"ANTHROPIC_BASE_URL=foo", "ANTHROPIC_API_KEY=k"},
			want: []string{"base_url", `"foo"`},
		},
		"base URL with a user": {
			env:  []string{"ANTHROPIC_BASE_URL=me:hush@foo"},
			want: []string{"base_url", `"***@foo"`},
		},
		"base URL of a port": {
			env:  []string{"ANTHROPIC_BASE_URL=http://:80"},
			want: []string{"base_url", "http://:80"},
		},
		"two documents": {yaml: "model: a\n---\nmodel: b\n", want: []string{"more than one document"}},
		"a reference":   {yaml: "model: &a x\neffort: *a\n", want: []string{"references"}},
		"not YAML":      {yaml: "{", want: []string{"not YAML: line 1"}},
		"too large":     {yaml: strings.Repeat("# comment\n", 200_000), want: []string{"larger"}},
		"schedule without a suite": {
			env:  []string{"FOOTNOTE_TESTS_SCHEDULE=24h"},
			want: []string{"tests.schedule", "tests.suite"},
		},
		"tests too often": {
			env:  []string{"FOOTNOTE_TESTS_SCHEDULE=1m", "FOOTNOTE_TESTS_SUITE=a.yaml"},
			want: []string{"tests.schedule", "1m0s", "10m to 720h"},
		},
		"webhook without a schedule": {
			env:  []string{"FOOTNOTE_TESTS_WEBHOOK=https://hooks.example"},
			want: []string{"tests.webhook", "tests.schedule"},
		},
		"webhook that is a file": {
			env: []string{
				"FOOTNOTE_TESTS_WEBHOOK=file:///hush", "FOOTNOTE_TESTS_SCHEDULE=1h", "FOOTNOTE_TESTS_SUITE=a.yaml",
			},
			want: []string{"tests.webhook", `"***"`, "https://"},
		},
		"live tests without a schedule": {
			env:  []string{"FOOTNOTE_TESTS_LIVE=true"},
			want: []string{"tests.live", "tests.schedule"},
		},
		"live tests without a model": {
			env: []string{
				"FOOTNOTE_TESTS_LIVE=true", "FOOTNOTE_TESTS_SCHEDULE=1h", "FOOTNOTE_TESTS_SUITE=a.yaml",
			},
			want: []string{"tests.live", "model_key"},
		},
		"tool over run": {
			env:  []string{"FOOTNOTE_TOOL_TIMEOUT=5m"},
			want: []string{"tool_timeout", "run_timeout"},
		},
		"run over HTTP": {
			env:  []string{"FOOTNOTE_HTTP_TIMEOUT=1m"},
			want: []string{"run_timeout", "http_timeout"},
		},
		"query over tool": {
			env:  []string{"FOOTNOTE_LIMITS_QUERY_TIME=31s"},
			want: []string{"limits.query_time", "tool_timeout"},
		},
		"bad effort": {env: []string{"FOOTNOTE_EFFORT=some"}, want: []string{"effort", `"some"`}},
		"anthropic without key": {
			env:  []string{"FOOTNOTE_UPSTREAM=anthropic"},
			want: []string{"model_key", "ANTHROPIC_API_KEY"},
		},
		"compatible nowhere": {
			env:  []string{"FOOTNOTE_UPSTREAM=compatible", "FOOTNOTE_MODEL_KEY=k"},
			want: []string{"base_url"},
		},
		"bad base URL": {
			env:  []string{"ANTHROPIC_BASE_URL=localhost:11434"},
			want: []string{"base_url", "localhost:11434"},
		},
		"audit file nowhere": {
			flag: map[string]string{"log_output": "file", "log_file": ""},
			want: []string{"log_file"},
		},
		"bad origin": {
			env:  []string{"FOOTNOTE_CORS_ORIGINS=https://a.example/path"},
			want: []string{"cors_origins", "https://a.example/path"},
		},
		"bad glob":       {env: []string{"FOOTNOTE_TOOLS_DENY=[a"}, want: []string{"[a"}},
		"no port":        {env: []string{"FOOTNOTE_LISTEN=127.0.0.1"}, want: []string{"listen", "127.0.0.1"}},
		"port too large": {env: []string{"FOOTNOTE_LISTEN=127.0.0.1:70000"}, want: []string{"70000"}},
		"the retired variable": {
			env:  []string{"FOOTNOTE_API_KEY=hush"},
			want: []string{"FOOTNOTE_API_KEY", "model_key", "ANTHROPIC_API_KEY", "FOOTNOTE_API_KEYS"},
		},
		"the retired setting": {yaml: "api_key: hush", want: []string{"line 1", "model_key", "api_keys"}},
		"the retired flag":    {flag: map[string]string{"api_key": "hush"}, want: []string{"model_key", "api_keys"}},
		"retired beside the new": {
			env:  []string{"FOOTNOTE_API_KEY=hush", "ANTHROPIC_API_KEY=hush"},
			want: []string{"FOOTNOTE_API_KEY", "model_key"},
		},
		"same key in api_keys and model_key": {
			env:  []string{"FOOTNOTE_API_KEYS=hush-hush-hush=a/b", "ANTHROPIC_API_KEY=hush-hush-hush"},
			want: []string{"api_keys entry 1", "model_key"},
		},
		"provider key in api_keys": {
			env:  []string{"FOOTNOTE_API_KEYS=0123456789,sk-ant-hush-hush"},
			want: []string{"api_keys entry 2", "sk-ant-", "model_key"},
		},
		"Footnote key as model_key": {
			env:  []string{"ANTHROPIC_API_KEY=" + ourKey},
			want: []string{"model_key", "footnote keys"},
		},
		"truncated Footnote key": {
			env:  []string{"ANTHROPIC_API_KEY=" + ourKey[:20]},
			want: []string{"model_key", "footnote keys"},
		},
		"Footnote key in quotes": {
			env:  []string{`ANTHROPIC_API_KEY="` + ourKey + `"`},
			want: []string{"model_key", "footnote keys"},
		},
		"Footnote key with Bearer prefix": {
			env:  []string{"FOOTNOTE_MODEL_KEY=Bearer " + ourKey},
			want: []string{"model_key", "footnote keys"},
		},
		"Footnote key with lower-case Bearer prefix": {
			yaml: "model_key: 'bearer " + ourKey + " '",
			want: []string{"model_key", "footnote keys"},
		},
		"key in quotes": {
			env:  []string{`ANTHROPIC_API_KEY="sk-hush"`},
			want: []string{"model_key", "quotes", "remove"},
		},
		"key in single quotes": {yaml: `model_key: "'sk-hush'"`, want: []string{"model_key", "quotes", "remove"}},
		"unclosed quote": {
			env:  []string{`ANTHROPIC_API_KEY='sk-hush`},
			want: []string{"model_key", "quotes", "remove"},
		},
		"key with Bearer prefix": {
			env:  []string{"ANTHROPIC_API_KEY=Bearer sk-hush"},
			want: []string{"model_key", "Bearer", "remove"},
		},
		"key with a space": {
			env:  []string{"ANTHROPIC_API_KEY=sk-hush hush"},
			want: []string{"model_key", "space", "remove"},
		},
		"key with a line break": {
			env:  []string{"ANTHROPIC_API_KEY=sk-hush\n"},
			want: []string{"model_key", "line", "remove"},
		},
		"quoted provider key in api_keys": {
			env:  []string{`FOOTNOTE_API_KEYS='sk-ant-hush-hush'`},
			want: []string{"api_keys entry 1", "sk-ant-", "model_key"},
		},
		"remote base_url without key": {
			env:  []string{"ANTHROPIC_BASE_URL=https://models.example"},
			want: []string{"base_url", "models.example", "upstream", "compatible"},
		},
		"FOOTNOTE_BASE_URL without key": {
			env:  []string{"FOOTNOTE_BASE_URL=http://10.0.0.7:11434"},
			want: []string{"base_url", "10.0.0.7", "upstream"},
		},
		"listen on all interfaces without keys": {env: []string{"FOOTNOTE_LISTEN=:8787"}, want: []string{"api_keys"}},
		"listen on 0.0.0.0 without keys": {
			env:  []string{"FOOTNOTE_LISTEN=0.0.0.0:8787"},
			want: []string{"api_keys"},
		},
		"issuer without audience": {
			env:  []string{"FOOTNOTE_AUTH_JWT_ISSUER=https://a.example"},
			want: []string{"auth.jwt.audience"},
		},
		"sign-in without an address": {env: []string{"FOOTNOTE_MCP_SIGN_IN=true"}, want: []string{"mcp.url"}},
		"sign-in with two issuers": {
			env: []string{
				"FOOTNOTE_MCP_SIGN_IN=true", "FOOTNOTE_MCP_URL=https://a.example/mcp",
				"FOOTNOTE_AUTH_JWT_ISSUER=https://a.example", "FOOTNOTE_AUTH_JWT_AUDIENCE=a",
			},
			want: []string{"mcp.sign_in", "auth.jwt.issuer"},
		},
		"audience without issuer": {env: []string{"FOOTNOTE_AUTH_JWT_AUDIENCE=a"}, want: []string{"auth.jwt.issuer"}},
		"key set over http": {
			env: []string{
				"FOOTNOTE_AUTH_JWT_ISSUER=https://a.example", "FOOTNOTE_AUTH_JWT_AUDIENCE=a",
				"FOOTNOTE_AUTH_JWT_KEYS=http://a.example/keys",
			},
			want: []string{"auth.jwt.keys", "https"},
		},
		"issuer over http": {
			env:  []string{"FOOTNOTE_AUTH_JWT_ISSUER=http://a.example", "FOOTNOTE_AUTH_JWT_AUDIENCE=a"},
			want: []string{"auth.jwt.issuer", "https"},
		},
		"no algorithm": {
			env: []string{
				"FOOTNOTE_AUTH_JWT_ISSUER=https://a.example", "FOOTNOTE_AUTH_JWT_AUDIENCE=a",
				"FOOTNOTE_AUTH_JWT_ALGORITHMS=RS256,none",
			},
			want: []string{"auth.jwt.algorithms", "none"},
		},
		"symmetric algorithm": {
			env: []string{
				"FOOTNOTE_AUTH_JWT_ISSUER=https://a.example", "FOOTNOTE_AUTH_JWT_AUDIENCE=a",
				"FOOTNOTE_AUTH_JWT_ALGORITHMS=HS256",
			},
			want: []string{"auth.jwt.algorithms", "HS256"},
		},
		"rules without required authentication": {
			env:  []string{`FOOTNOTE_ACCESS=[{"orgs":["a"]}]`},
			want: []string{"access", "auth.required"},
		},
		"rule without subjects": {
			env:  []string{`FOOTNOTE_ACCESS=[{"orgs":[]}]`, "FOOTNOTE_AUTH_REQUIRED=true"},
			want: []string{"access rule 1", "empty"},
		},
		"rule with a typo": {
			env:  []string{`FOOTNOTE_ACCESS=[{"org":["a"]}]`, "FOOTNOTE_AUTH_REQUIRED=true"},
			want: []string{"access.org"},
		},
		"access is not a list": {
			env:  []string{`FOOTNOTE_ACCESS=everybody`, "FOOTNOTE_AUTH_REQUIRED=true"},
			want: []string{"access", "list"},
		},
		"listen on all IPv6 interfaces without keys": {
			env:  []string{"FOOTNOTE_LISTEN=[::]:8787"},
			want: []string{"api_keys"},
		},
		"listen on a host name without keys": {
			env:  []string{"FOOTNOTE_LISTEN=example.org:8787"},
			want: []string{"api_keys"},
		},
		"short key": {
			env:  []string{"FOOTNOTE_LISTEN=:8787", "FOOTNOTE_API_KEYS=short"},
			want: []string{"shorter"},
		},
		"duplicate key": {
			env:  []string{"FOOTNOTE_API_KEYS=the-same=a/b,the-same=c/d"},
			want: []string{"entry 2", "twice"},
		},
		"half a principal": {env: []string{"FOOTNOTE_API_KEYS=k=acme"}, want: []string{"org/user"}},
		"bad source": {
			env:  []string{"FOOTNOTE_SOURCES=shop.db"},
			want: []string{"shop.db", "name=url-or-path"},
		},
		"source without a path": {yaml: "sources: {shop: }", want: []string{"shop"}},
		"no such file":          {flag: map[string]string{"config": "x"}, want: []string{`"config"`}},
	} {
		_, err := config.Load(file(t, c.yaml), c.env, c.flag)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "unmarshal") {
			t.Errorf("%s: %q has secrets or words of a library", name, err)
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
	if _, err := config.Load(filepath.Join(t.TempDir(), "none.yaml"), nil, nil); err == nil {
		t.Error("a file that is named must be there")
	}
}

// ourKey has the form of a key made by footnote keys create.
var ourKey, _ = apikey.New(footnote.Principal{Org: "hush", User: "hush"}, time.Time{})

// TestModelConnectionSettings checks which settings connect a model. A caller's key is not one of them.
func TestModelConnectionSettings(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, config.Offline},
		{[]string{"FOOTNOTE_API_KEYS=a-key-of-a-client=acme/ann"}, config.Offline},
		{[]string{"FOOTNOTE_API_KEY="}, config.Offline},
		{[]string{"ANTHROPIC_API_KEY=k"}, config.Anthropic},
		{[]string{"FOOTNOTE_MODEL_KEY=k"}, config.Anthropic},
		{[]string{"FOOTNOTE_MODEL_KEY=k", "FOOTNOTE_BASE_URL=https://models.example"}, config.Compatible},
		{[]string{"ANTHROPIC_BASE_URL=http://127.0.0.1:11434"}, config.Compatible},
		{[]string{"ANTHROPIC_BASE_URL=http://localhost:11434"}, config.Compatible},
		{[]string{"ANTHROPIC_BASE_URL=http://[::1]:11434"}, config.Compatible},
		{[]string{"ANTHROPIC_BASE_URL=https://models.example", "FOOTNOTE_UPSTREAM=compatible"}, config.Compatible},
		{[]string{"ANTHROPIC_BASE_URL=https://models.example", "FOOTNOTE_MODEL=offline"}, config.Offline},
		{[]string{"ANTHROPIC_API_KEY=k", "FOOTNOTE_UPSTREAM=offline"}, config.Offline},
	} {
		got, err := config.Load(file(t, ""), c.env, nil)
		if err != nil || got.Upstream != c.want {
			t.Errorf("%v: upstream %q, %v; want %q", c.env, got.Upstream, err, c.want)
		}
	}
}

func TestAllowedListenAddresses(t *testing.T) {
	for _, env := range [][]string{
		{"FOOTNOTE_LISTEN=localhost:0"}, {"FOOTNOTE_LISTEN=[::1]:1"}, {"FOOTNOTE_LISTEN=127.9.9.9:1"},
		{"FOOTNOTE_LISTEN=0.0.0.0:1", "FOOTNOTE_API_KEYS=0123456789abcdef"},
	} {
		if _, err := config.Load(file(t, ""), env, nil); err != nil {
			t.Errorf("%v: %v", env, err)
		}
	}
}

// TestLegacyVariables checks that legacy variables are read, and that Footnote's own take precedence.
func TestLegacyVariables(t *testing.T) {
	legacy := []string{
		"MAX_HISTORY_LENGTH=50", "TOOL_EXECUTION_TIMEOUT=30500", "CACHE_TTL_CONVERSATION=600",
		"CACHE_TTL_TOOL_RESULTS=90", "LOG_LEVEL=WARN", "ENABLE_DEBUG_LOGS=false",
	}
	c, err := config.Load(file(t, ""), legacy, nil)
	if err != nil || c.MaxHistory != 50 || c.ToolTimeout != 30500*time.Millisecond || c.Recall != 10*time.Minute ||
		c.Cache.TTL != 90*time.Second || c.LogLevel != "warn" {
		t.Errorf("%v: %d, %v, %v, %q", err, c.MaxHistory, c.ToolTimeout, c.Recall, c.LogLevel)
	}
	if c, err = config.Load(file(t, ""), append(legacy, "ENABLE_DEBUG_LOGS=true"), nil); err != nil ||
		c.LogLevel != "debug" {
		t.Errorf("with debug logs: %q, %v", c.LogLevel, err)
	}
	if c, err = config.Load(file(t, ""), []string{"TOOL_EXECUTION_TIMEOUT=5000"}, nil); err != nil ||
		c.Limits.QueryTime != 5*time.Second {
		t.Errorf("a short time for tools: %v, %v", c.Limits.QueryTime, err)
	}
	ours := []string{
		"FOOTNOTE_MAX_HISTORY_LENGTH=60", "FOOTNOTE_TOOL_TIMEOUT=70s", "FOOTNOTE_CONVERSATION_CACHE_TTL=1s",
		"FOOTNOTE_CACHE_TTL=2s", "FOOTNOTE_LOG_LEVEL=error",
	}
	if c, err = config.Load(file(t, ""), append(ours, legacy...),
		nil); err != nil || c.MaxHistory != 60 || c.ToolTimeout != 70*time.Second || c.Recall != time.Second ||
		c.Cache.TTL != 2*time.Second || c.LogLevel != "error" {
		t.Errorf("ours: %v: %d, %v, %v, %q", err, c.MaxHistory, c.ToolTimeout, c.Recall, c.LogLevel)
	}
}

func TestOwnTools(t *testing.T) {
	c, err := config.Load(file(t, `
cache: {tools: [orders=10s]}
tools:
  own:
    - name: orders
      description: Orders of a city.
      source: shop
      sql: SELECT $1
      parameters:
        - {name: city, type: text, description: A city., values: [Oslo, Rome]}
        - {name: least, type: number, optional: true}
    - {name: all, description: All orders., source: shop, sql: SELECT 1, ttl: 1h}
`), nil, nil)
	if err != nil || len(c.Tools.Own) != 2 {
		t.Fatalf("own tools: %v, %+v", err, c.Tools.Own)
	}
	a, b := c.Tools.Own[0], c.Tools.Own[1]
	if a.TTL != nil || len(a.Parameters) != 2 || len(a.Parameters[0].Values) != 2 || !a.Parameters[1].Optional ||
		b.TTL == nil || *b.TTL != time.Hour {
		t.Errorf("own tools: %+v, %+v", a, b)
	}
	if c.Cache.Of("orders") != 10*time.Second || c.Cache.Of("order") != 5*time.Minute {
		t.Errorf("kept %v and %v", c.Cache.Of("orders"), c.Cache.Of("order"))
	}
}

func TestEmptyVariableIsUnset(t *testing.T) {
	var env []string
	for name := range testValues {
		env = append(env, variable(name)+"=")
	}
	env = append(env, "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=", "FOOTNOTE_CONFIG=")
	t.Chdir(t.TempDir())
	got, err := config.Load("", env, nil)
	want, err2 := config.Load("", nil, nil)
	if err != nil || err2 != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v\ngot  %v\nwant %v", err, err2, got, want)
	}
	// It keeps the file's value.
	got, err = config.Load(file(t, "max_turns: 3"), []string{"FOOTNOTE_MAX_TURNS="}, nil)
	if err != nil || got.MaxTurns != 3 {
		t.Errorf("max_turns = %d, %v", got.MaxTurns, err)
	}
}

func TestConfigFileLookup(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("footnote.yaml", []byte("max_turns: 3"), 0o600); err != nil {
		t.Fatal(err)
	}
	named := file(t, "max_turns: 4")
	for env, want := range map[string]int{"": 3, "FOOTNOTE_CONFIG=" + named: 4} {
		if c, err := config.Load("", []string{env}, nil); err != nil || c.MaxTurns != want {
			t.Errorf("%q: max_turns = %d, %v", env, c.MaxTurns, err)
		}
	}
	if c, err := config.Load(file(t, "max_turns: 5"), []string{"FOOTNOTE_CONFIG=" + named}, nil); err != nil ||
		c.MaxTurns != 5 {
		t.Errorf("max_turns = %d, %v", c.MaxTurns, err)
	}
}

func TestUpstream(t *testing.T) {
	for name, c := range map[string]struct {
		env                      []string
		upstream, model, baseURL string
	}{
		"nothing": {nil, config.Offline, config.Offline, ""},
		"a key":   {[]string{"ANTHROPIC_API_KEY=k"}, config.Anthropic, "claude-sonnet-5-5", ""},
		"the provider's host": {
			[]string{
				"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=https://API.anthropic.com/v1/",
			}, config.Anthropic, "claude-sonnet-5-5", "https://API.anthropic.com",
		},
		"a local server": {
			[]string{
				"ANTHROPIC_BASE_URL=http://127.0.0.1:11434/v1", "FOOTNOTE_MODEL=qwen",
			}, config.Compatible, "qwen", "http://127.0.0.1:11434",
		},
		"a host that looks like it": {
			[]string{
				"ANTHROPIC_BASE_URL=http://api.anthropic.com.example", "ANTHROPIC_API_KEY=k",
			}, config.Compatible, "claude-sonnet-5-5", "http://api.anthropic.com.example",
		},
		"a path that looks like it": {
			[]string{
				"ANTHROPIC_BASE_URL=http://localhost/api.anthropic.com",
			}, config.Compatible, "claude-sonnet-5-5", "http://localhost/api.anthropic.com",
		},
		"offline is forced": {
			[]string{"ANTHROPIC_API_KEY=k", "FOOTNOTE_MODEL=offline"}, config.Offline, config.Offline, "",
		},
		"offline by upstream": {
			[]string{"ANTHROPIC_API_KEY=k", "FOOTNOTE_UPSTREAM=offline"}, config.Offline, config.Offline, "",
		},
		"a proxy for the provider": {
			[]string{
				"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://proxy", "FOOTNOTE_UPSTREAM=anthropic",
			}, config.Anthropic, "claude-sonnet-5-5", "http://proxy",
		},
		"ours over theirs": {
			[]string{
				"FOOTNOTE_BASE_URL=http://ours", "ANTHROPIC_BASE_URL=http://theirs", "FOOTNOTE_MODEL_KEY=k",
			}, config.Compatible, "claude-sonnet-5-5", "http://ours",
		},
	} {
		got, err := config.Load(file(t, ""), c.env, nil)
		if err != nil || got.Upstream != c.upstream || got.Model != c.model || got.BaseURL != c.baseURL {
			t.Errorf("%s: %s %s %s, %v", name, got.Upstream, got.Model, got.BaseURL, err)
		}
	}
}

func TestSourcesAreSplitOnlyBeforeAName(t *testing.T) {
	for list, want := range map[string]map[string]string{
		"":                                   {},
		"a=1.db":                             {"a": "1.db"},
		"a=1,2.db,b=3.db":                    {"a": "1,2.db", "b": "3.db"},
		"a=x?mode=ro,b=y=z,w":                {"a": "x?mode=ro", "b": "y=z,w"},
		"a=/tmp/x, y=z/w.db":                 {"a": "/tmp/x, y=z/w.db"},
		"pg=postgres://u:p,w@h/d?a=b,c-1=.x": {"pg": "postgres://u:p,w@h/d?a=b", "c-1": ".x"},
	} {
		got, err := config.ParseSources(list)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v; want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"x", "=x", "a=", "a=1,a=2", "a b=1", ",a=1"} {
		if got, err := config.ParseSources(list); err == nil {
			t.Errorf("%q: %v, want an error", list, got)
		}
	}
}

func TestKeysMapToPrincipals(t *testing.T) {
	want := map[string]footnote.Principal{
		"plain-01": {Org: "local", User: "key1"}, "named-01": {Org: "acme", User: "ann"},
		"b64-0123==": {Org: "local", User: "key3"}, "a=b-01234": {Org: "x", User: "y/z"},
	}
	const list = "plain-01, named-01=acme/ann,,b64-0123==,a=b-01234=x/y/z"
	c, err := config.Load(file(t, ""), []string{"FOOTNOTE_API_KEYS=" + list}, nil)
	if err != nil || !reflect.DeepEqual(c.Principals(), want) {
		t.Errorf("principals: %v, %v", c.Principals(), err)
	}
	c, err = config.Load(file(t,
		"api_keys:\n  - plain-01\n  - {key: named-01, org: acme, user: ann}\n  - b64-0123==\n  - a=b-01234=x/y/z\n"),
		nil, nil)
	if err != nil || !reflect.DeepEqual(c.Principals(), want) {
		t.Errorf("from the file: %v, %v", c.Principals(), err)
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	c, err := config.Load(file(t, ""), []string{
		"ANTHROPIC_API_KEY=hush-1", "FOOTNOTE_API_KEYS=hush-2-0123456789=acme/ann",
		"ANTHROPIC_BASE_URL=https://me:hush-3@host",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Set("sources",
		"pg=postgres://me:hush-4@host/db,my=mysql://host/db?password=hush-5,kv=host=h password='hush-6 x' dbname=d")
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err1 := json.Marshal(c)
	asYAML, err2 := yaml.Marshal(c)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "config", c, "key", c.APIKey, "keys", c.APIKeys)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "config", &c, "key", c.APIKey, "keys", c.APIKeys)
	prints := map[string]string{"json": string(asJSON), "yaml": string(asYAML), "slog": logged.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		prints[verb] = fmt.Sprintf(verb, c) + fmt.Sprintf(verb, &c) + fmt.Sprintf(verb, c.APIKey) + fmt.Sprintf(verb,
			c.APIKeys)
	}
	for what, text := range prints {
		if strings.Contains(text, "hush") || strings.Contains(text, fmt.Sprintf("%x", "hush")) {
			t.Errorf("%s prints a secret: %s", what, text)
		}
		if strings.HasPrefix(what, "%v") && !strings.Contains(text, "postgres://me:***@host/db") {
			t.Errorf("%s: %s", what, text)
		}
	}
	// Errors do not show it either.
	for name, load := range map[string]func() error{
		"a misspelt variable": func() error {
			_, err := config.Load(file(t, ""), []string{"FOOTNOTE_APIKEY=hush"}, nil)
			return err
		},
		"a misspelt setting": func() error {
			_, err := config.Load(file(t, "api_kee: x\nanthropic_api_key: hush"), nil, nil)
			return err
		},
		"keys that are wrong": func() error { _, err := config.Load(file(t, "api_keys: hush"), nil, nil); return err },
		"a key that is wrong": func() error {
			_, err := config.Load(file(t, "api_keys: [hush=x]"), nil, nil)
			return err
		},
		"a key without its user": func() error {
			_, err := config.Load(file(t, ""), []string{"FOOTNOTE_API_KEYS=hush=x"}, nil)
			return err
		},
		"a source":    func() error { _, err := config.ParseSources("postgres://me:hush@host/db"); return err },
		"two sources": func() error { _, err := config.ParseSources("a=x://me:hush@h,a=1"); return err },
		"a base URL": func() error {
			_, err := config.Load(file(t, ""), []string{"FOOTNOTE_BASE_URL=ftp://me:hush@h"}, nil)
			return err
		},
	} {
		if err := load(); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAuditFileInDataFolder(t *testing.T) {
	for logFile, want := range map[string]string{
		"a.jsonl":      filepath.Join("d", "a.jsonl"),
		"/var/a.jsonl": "/var/a.jsonl",
	} {
		if got := (config.Config{Data: "d", LogFile: logFile}).AuditFile(); got != want {
			t.Errorf("%s: %s, want %s", logFile, got, want)
		}
	}
}

// TestDocumentedSettings checks that the documentation lists each setting with its variable and its default.
func TestDocumentedSettings(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| `([A-Z_]+)` \\| ([^|]*) \\| [^|]+ \\|$")
	documented := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(data), -1) {
		documented[m[1]] = m[2:]
	}
	defaults := reflect.ValueOf(config.Default())
	for name, index := range settings(reflect.TypeFor[config.Config](), "", nil) {
		if onlyInFile(name) { // a list of lists, which the row regexp does not match
			continue
		}
		doc, ok := documented[name]
		if !ok {
			t.Errorf("%s is not documented", name)
			continue
		}
		delete(documented, name)
		value := defaults.FieldByIndex(index)
		want := ""
		if !value.IsZero() && (value.Kind() != reflect.Map || value.Len() > 0) {
			want = fmt.Sprintf("`%v`", value.Interface())
		}
		if doc[0] != variable(name) || doc[1] != want {
			t.Errorf("%s: documented as %q, want %q with default %q", name, doc, variable(name), want)
		}
	}
	for name := range documented {
		t.Errorf("%s is documented and does not exist", name)
	}
}

func TestSearchTables(t *testing.T) {
	c, err := config.Load(file(t, `
tools:
  search:
    - {source: crm, table: notes, key: id, title: [title], text: [title, body], language: portuguese, vector: found, org_column: org, limit: 5}
    - name: letters
      source: crm
      table: post
      key: nr
      text: [body]
      fts: post_fts
      filters: [{column: status, type: text, values: [open, done], description: How it stands.}]
`), nil, nil)
	if err != nil || len(c.Tools.Search) != 2 {
		t.Fatalf("searches: %v, %+v", err, c.Tools.Search)
	}
	a, b := c.Tools.Search[0], c.Tools.Search[1]
	if a.Language != "portuguese" || a.Vector != "found" || a.OrgColumn != "org" || a.Limit != 5 || len(a.Text) != 2 ||
		b.Name != "letters" || b.FTS != "post_fts" || len(b.Filters[0].Values) != 2 {
		t.Errorf("searches: %+v, %+v", a, b)
	}
	if _, err := config.Load(file(t, "tools: {search: [{source: crm, tabel: notes}]}"), nil, nil); err == nil ||
		!strings.Contains(err.Error(), "tools.search.tabel") {
		t.Errorf("a setting that is not known: %v", err)
	}
}

func TestTables(t *testing.T) {
	at := file(t, `
sources: {shop: shop.db}
tables:
  shop:
    include: [orders, "sales.*"]
    exclude: ["*_old"]
    descriptions: {orders: One row per order., orders.total: In euros.}
`)
	c, err := config.Load(at, nil, nil)
	shop := c.Tables["shop"]
	if err != nil || len(shop.Include) != 2 || shop.Descriptions["orders.total"] != "In euros." {
		t.Fatalf("tables: %+v, %v", c.Tables, err)
	}
	for text, want := range map[string]string{
		`{shpo: {include: [a]}}`: `"shpo", which is not configured`, `{shop: {inclued: [a]}}`: "inclued",
		`{shop: {exclude: [""]}}`: "write table or schema.table", `{shop: {descriptions: {a: ""}}}`: "1 to 2000 bytes",
	} {
		_, err := config.Load(file(t, "sources: {shop: shop.db}\ntables: "+text+"\n"), nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestFilters(t *testing.T) {
	c, err := config.Load("", []string{
		"FOOTNOTE_SOURCES=shop=shop.db", `FOOTNOTE_FILTERS={shop: {orders: "org_id = {org}", products: all}}`,
	}, nil)
	if err != nil || c.Filters["shop"]["orders"] != "org_id = {org}" || c.CheckFiltered(c.Sources) != nil {
		t.Fatalf("filters: %v, %v", c.Filters, err)
	}
	if err := c.CheckFiltered(map[string]string{"shpo": "shop.db"}); err == nil ||
		!strings.Contains(err.Error(), `"shop"`) {
		t.Errorf("filters of a source that is not there: %v", err)
	}
	for text, want := range map[string]string{
		`{shop: {orders: "org_id = '{org}'"}}`: "filters.shop.orders: the filter has a brace inside quotes",
		`{shop: {}}`:                           "names no tables", `{shop: orders}`: "list of names",
		`{shop: {orders: [a]}}`: "one value", `{"a b": {orders: all}}`: "letters", `]`: "YAML",
	} {
		_, err := config.Load("", []string{
			"FOOTNOTE_SOURCES=shop=shop.db,crm=postgres://db/crm", "FOOTNOTE_FILTERS=" + text,
		}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
