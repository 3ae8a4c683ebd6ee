package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// Secret is a string that hides its value whenever it is printed.
type Secret string

const hidden = "***"

func (Secret) String() string { return hidden }

// Format hides the value from all verbs of fmt.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// GoString hides the value from %#v.
func (Secret) GoString() string { return hidden }

// LogValue hides the value from slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the value from encoders.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalYAML hides the value from files.
func (Secret) MarshalYAML() (any, error) { return hidden, nil }

// open is a Config without the methods that hide secrets.
type open Config

// printable returns c without the passwords in addresses.
func (c Config) printable() open {
	sources := make(map[string]string, len(c.Sources))
	for name, address := range c.Sources {
		sources[name] = Redact(address)
	}
	c.Sources, c.BaseURL, c.Traces.Endpoint = sources, Redact(c.BaseURL), Redact(c.Traces.Endpoint)
	return open(c)
}

// Format prints the settings without secrets, for all verbs.
func (c Config) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "%+v", c.printable()) }

// LogValue returns the settings without secrets.
func (c Config) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// MarshalJSON encodes the settings without secrets.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.printable()) }

// MarshalYAML encodes the settings without secrets.
func (c Config) MarshalYAML() (any, error) { return c.printable(), nil }

var (
	userinfo = regexp.MustCompile(`(://[^/?#@:\s]*:)[^/\s]*@`)
	parts    = regexp.MustCompile(
		`(?i)((?:password|passwd|pwd|token|secret|api_?key|access_?key)\s*=\s*)('[^']*'|[^&;,\s]+)`)
	secretName = regexp.MustCompile(`(?i)api_?key|(?:^|[._-])keys?$|token$|secret|pass|pwd|credential|headers$`)
)

// Redact returns one or several addresses without the passwords in them.
func Redact(address string) string {
	address = userinfo.ReplaceAllString(address, "${1}"+hidden+"@")
	return parts.ReplaceAllString(address, "${1}"+hidden)
}

// withoutUser removes everything that could be a user name and password from text that may be an address.
func withoutUser(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return Redact(address)
	}
	begin := 0
	if scheme, _, ok := strings.Cut(address[:at], "://"); ok {
		begin = len(scheme) + len("://")
	}
	return Redact(address[:begin] + hidden + address[at:])
}

// printableValue returns the value of a setting as errors may print it.
func printableValue(name, value string) string {
	if secretName.MatchString(name) && !strings.HasPrefix(name, "sources.") {
		return hidden
	}
	return Redact(value)
}

// retired maps removed settings to the reason for their removal.
var retired = map[string]string{
	"api_key": "it was the model's key, and is easily confused with the keys of callers. " +
		"Set model_key (FOOTNOTE_MODEL_KEY or ANTHROPIC_API_KEY) to connect a model, " +
		"and api_keys (FOOTNOTE_API_KEYS) for the keys of callers",
}

func noSetting(name, value string) error {
	if why := retired[name]; why != "" {
		return fmt.Errorf("the setting %s no longer exists: %s", name, why)
	}
	return fmt.Errorf("there is no setting %q (value %q)", strings.TrimSpace(name), printableValue(name, value))
}
