package app

import (
	"context"

	"github.com/footnotehq/footnote/audit"
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
