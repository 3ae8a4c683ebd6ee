package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/telemetry"
	"github.com/footnotehq/footnote/protocol/openai"
	"github.com/footnotehq/footnote/store/postgres"
)

// WriteAudit writes what the log has of the audit, and returns. Serve does so by itself.
func (a *App) WriteAudit(ctx context.Context) {
	done, cancel := context.WithCancel(ctx)
	cancel()
	a.audit.Run(done, auditGrace)
}

// newAudit creates the configured audit.
func (a *App) newAudit() (*audit.Audit, error) {
	sinks := map[string]audit.Sink{}
	if a.out != nil && a.cfg.LogOutput != "file" {
		sinks["stdout"] = audit.Stream{W: a.out}
	}
	if a.out == nil || a.cfg.LogOutput != "stdout" {
		sinks["file"] = audit.File{Path: a.cfg.AuditFile()}
	}
	return a.auditTo(sinks)
}

// auditTo creates the audit of this log with the given sinks. It redacts the keys of the configuration.
func (a *App) auditTo(sinks map[string]audit.Sink) (*audit.Audit, error) {
	patterns, err := a.cfg.RedactPatterns()
	if err != nil {
		return nil, err
	}
	var lead func(ctx context.Context, sink string) (release func(), ok bool, err error)
	if p, ok := a.store.(*postgres.Store); ok {
		lead = func(ctx context.Context, sink string) (func(), bool, error) { return p.Lead(ctx, "audit/"+sink) }
	}
	return audit.New(audit.Options{
		Lead: lead, Log: a.store, Inbox: &a.inbox, Sinks: sinks, Verbose: a.cfg.LogVerbose, Secrets: secretsOf(a.cfg),
		Redact: patterns, Logger: a.log,
	})
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
	secrets := []string{string(c.APIKey), string(c.Cache.Secret)}
	secrets = slices.AppendSeq(secrets, maps.Values(c.Traces.Header()))
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

// refused tells the audit about a question that a limit refused before its run began.
func (a *App) refused(t agent.Turn, err error) {
	e := audit.NewEntry("audit", time.Now())
	e.SessionID, e.Org, e.User = t.Conversation, t.Principal.Org, t.Principal.User
	e.Protocol, e.RequestID, e.Question = t.Protocol, t.RequestID, t.Text
	e.Failed(err)
	a.inbox.Add(e)
}

// sideJob tells the audit about a model call for the side traffic of a chat front end.
func (a *App) sideJob(ctx context.Context, j openai.SideJob) {
	e := a.outsideLog(ctx, httpapi.PrincipalOf(ctx), "side_job", "openai", j.Spent, j.Took, j.Err)
	e.Question, e.Response = j.Prompt, j.Text
	a.inbox.Add(e)
}

// queried tells the audit about a person's own statement that the log does not hold.
func (a *App) queried(ctx context.Context, q httpapi.OwnQuery) {
	p := httpapi.PrincipalOf(ctx)
	e := audit.NewEntry("query", time.Now())
	e.SessionID, e.Org, e.User = q.Conversation, p.Org, p.User
	e.Protocol, e.RequestID = cmp.Or(q.Protocol, "app"), footnote.OriginOf(ctx).Request
	e.Metadata.DurationSeconds = q.Took.Seconds()
	if q.Err != nil {
		e.Failed(q.Err)
	}
	e.Statement(q.Statement)
	a.inbox.Add(e)
}

// outsideLog returns an audit entry about a model call of which the log holds only the numbers.
func (a *App) outsideLog(ctx context.Context, p footnote.Principal, kind, protocol string, spent footnote.Spent,
	took time.Duration, err error) audit.Entry {
	e := audit.NewEntry(kind, time.Now())
	e.Org, e.User, e.Protocol, e.RequestID = p.Org, p.User, protocol, footnote.OriginOf(ctx).Request
	e.Metadata.Model = cmp.Or(spent.Model, a.assistant.ModelName)
	e.Took(spent.Usage, spent.Cost, took.Milliseconds())
	if err != nil {
		e.Failed(err)
	}
	return e
}

// watched wakes the audit when a run ends.
type watched struct {
	*telemetry.Metrics
	audit *audit.Audit
}

// RunEnded implements agent.Metrics.
func (w watched) RunEnded(assistant, outcome string, d time.Duration) {
	w.Metrics.RunEnded(assistant, outcome, d)
	w.audit.Wake()
}
