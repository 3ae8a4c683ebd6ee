// Package footnote defines the vocabulary of the Footnote analyst: callers (Principal), recorded events (Event
// and its bodies), query results (Result), the evidence for an answer (Cite) and failures (Error).
//
// A conversation is an append-only log of events. Everything else (the history a model reads, the
// page a person sees, the audit trail, the usage) is a projection of that log. This package holds
// only those types. It imports nothing but the standard library and does no I/O.
package footnote
