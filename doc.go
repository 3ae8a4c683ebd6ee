// Package footnote is the vocabulary of the Footnote analyst: who asks
// (Principal), what is recorded (Event and its bodies), what a query gives
// (Result), what an answer rests on (Cite) and how anything fails (Error).
//
// A conversation is an append-only log of events; everything else — the history
// a model reads, the page a person sees, the audit trail, the usage — is a
// projection of that log. This package holds the nouns of that idea. It imports
// the standard library only and does no I/O.
package footnote
