package app

import (
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/store/postgres"
)

// NewLogger creates a log that contains no secrets of the configuration. The level must be valid.
func NewLogger(w io.Writer, c config.Config, level string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level))
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: redacting(c)}))
}

// redacting returns a log filter that removes secrets of the configuration and matches of its patterns.
func redacting(c config.Config) func([]string, slog.Attr) slog.Attr {
	scan := redactor(c)
	return func(_ []string, at slog.Attr) slog.Attr {
		switch v := at.Value.Resolve(); v.Kind() {
		case slog.KindString:
			at.Value = slog.StringValue(scan(v.String()))
		case slog.KindAny:
			if err, ok := v.Any().(error); ok {
				at.Value = slog.StringValue(scan(err.Error()))
			}
		}
		return at
	}
}

// secretsOf returns the secrets of a configuration.
func secretsOf(c config.Config) []string {
	secrets := []string{string(c.APIKey)}
	for _, value := range c.Traces.Header() {
		secrets = append(secrets, value)
	}
	for _, k := range c.APIKeys {
		secrets = append(secrets, string(k.Key))
	}
	return secrets
}

// redactor returns a function that removes secrets, passwords in addresses, and matches of the configured patterns
// from a text.
func redactor(c config.Config) func(string) string {
	secrets := audit.Replacer(append(secretsOf(c), string(c.Store), string(c.Redis)))
	patterns, _ := c.RedactPatterns() // Check has validated them
	return func(text string) string {
		text = config.Redact(secrets(text))
		for _, p := range patterns {
			text = p.ReplaceAllLiteralString(text, "***")
		}
		return text
	}
}

// OneLine returns the text of an error for people. The message of a classified error is enough, except for the reason
// why the store cannot be used. The cause from an engine may continue with an excerpt of the statement.
func OneLine(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*footnote.Error](err); ok && e.Err != nil {
		// Replace the error text with the message for people. The cause goes to the log only.
		text = strings.Replace(text, e.Error(), e.Message, 1)
		if why := postgres.Reason(e.Err); e.Code == footnote.StorageUnavailable && why != "" {
			text += " " + why
		}
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines, "; ")
}
