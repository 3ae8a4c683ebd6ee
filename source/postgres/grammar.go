package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/wasilibs/go-pgquery/parser"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/confine"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// Kind names the parser in the table passed to child.Main.
const Kind = "postgres-grammar"

// The parser is Postgres's own, compiled to WebAssembly. A statement nested deeper than its stack breaks it
// permanently, so it runs in a child process. There it may crash, loop or fill memory, and the next statement gets
// a new one.

// OpenEngine opens the parser inside a child. It is a child.OpenFunc.
func OpenEngine(context.Context, json.RawMessage) (child.Engine, error) { return grammarEngine{}, nil }

type grammarEngine struct{ child.NoDatabase }

// Call implements child.Caller: it parses a statement. When the parser's stack overflows, it panics and thereby
// ends the child.
func (grammarEngine) Call(_ context.Context, method string, params json.RawMessage) (any, error) {
	var text string
	if err := json.Unmarshal(params, &text); err != nil {
		return nil, fmt.Errorf("read the statement: %w", err)
	}
	if method == "warm" {
		_, err := parser.ParseToJSON("SELECT 1")
		debug.FreeOSMemory() // compiling needs ten times the parser's memory
		return nil, err
	}
	tree, err := parser.ParseToJSON(text)
	if err != nil {
		return facts{Bad: err.Error()}, nil
	}
	return collectFacts([]byte(tree)), nil
}

// Grammar parses statements with Postgres's own parser. One is enough for all sources of a process. Several
// goroutines may call its methods at once.
type Grammar struct {
	client *child.Client
	turn   chan struct{} // held while a statement is parsed, which takes 0.1 ms
	warm   bool          // the child has compiled the parser; guarded by turn
	pid    int           // of the child that compiled it; guarded by turn
}

const (
	warmTime  = 2 * time.Minute // for starting a child and compiling; 2 s on an idle machine
	parseTime = 10 * time.Second
)

// GrammarMemory is the memory limit of the child. Compiling the parser takes 280 MB, and reading a text of 256 KB, four
// times the longest that is read, takes 310 MB; under the race detector, it is several times that.
var GrammarMemory = map[bool]int64{false: 512 << 20, true: 4 * 512 << 20}[confine.Race]

// NewGrammar returns a Grammar. The first statement starts its child. The pool may be nil.
func NewGrammar(pool *child.Pool, log *slog.Logger) *Grammar {
	return &Grammar{
		client: child.New(Kind, nil, child.Options{
			Dialect: Dialect, Pool: pool, Logger: log, Idle: 24 * time.Hour,
			Limits: source.Limits{Memory: GrammarMemory},
		}),
		turn: make(chan struct{}, 1),
	}
}

var _ io.Closer = (*Grammar)(nil)

// Close ends the child.
func (g *Grammar) Close() error { return g.client.Close() }

// read returns the facts about a text.
func (g *Grammar) read(ctx context.Context, text string) (facts, error) {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return facts{}, context.Cause(ctx)
	}
	defer func() { <-g.turn }()
	if pid := g.client.PID(); !g.warm || pid == 0 || pid != g.pid {
		if err := g.warmUp(ctx); err != nil {
			return facts{}, err
		}
	}
	pctx, cancel := context.WithTimeout(ctx, parseTime)
	defer cancel()
	var f facts
	err := g.client.Call(pctx, "parse", text, &f)
	switch {
	case ctx.Err() != nil:
		return facts{}, context.Cause(ctx)
	case footnote.CodeOf(err) == footnote.RateLimited: // ended to make room; no memory for a new child
		return facts{}, err
	case err != nil: // the child crashed, or did not answer and was killed
		g.warm = false
		return facts{}, source.Refusef(
			"The statement is too deeply nested, or too large, to be read. Write it with fewer levels.")
	}
	return f, nil
}

// warmUp starts a child and has it compile the parser. Compiling continues when the statement that needed it is
// cancelled, because the next one needs it, too. Waiting for memory does not continue.
func (g *Grammar) warmUp(ctx context.Context) error {
	if _, err := g.client.Status(ctx); err != nil {
		return fmt.Errorf("start the parser of Postgres: %w", err)
	}
	hctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), warmTime)
	defer cancel()
	if err := g.client.Call(hctx, "warm", "", nil); err != nil {
		return fmt.Errorf("start the parser of Postgres: %w", err)
	}
	g.warm, g.pid = true, g.client.PID()
	return nil
}
