// Package importer reads market data from CSV into a market.Store: one file is one load,
// all of it or nothing.
package importer

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
)

// The kinds of files.
const (
	Candles   = "candles"
	Calendar  = "calendar"
	Headlines = "headlines"
	COT       = "cot"
	Trades    = "trades"
)

// Options say what a file holds and how it is read.
type Options struct {
	Kind      string
	Symbol    string // of candles, and of other rows that name none
	Timeframe market.Timeframe
	Name      string // of the symbol; empty: what it was, or the symbol
	Digits    int    // of its prices; negative: what it was, or as many as the file has
	Org, User string // whose trades they are
	Currency  string // of the results of trades that name none; empty: it is not known
	// Zone is that of times without one; nil: UTC.
	Zone      *time.Location
	Synthetic bool // the data is invented
	// SkipBad loads the good rows of a file that has bad ones.
	SkipBad bool
	// Unread is told of the columns that mean nothing here.
	Unread func(columns []string)
	// Waiting is told when another load is waited for.
	Waiting func()
	// Progress is told how many rows were read, now and then.
	Progress func(rows int)
	// Bad is told of each row that cannot be, with its line and the reason.
	Bad func(line int, reason string)
}

// Report is what became of a file.
type Report struct {
	Rows, Bad int
	Loaded    int  // 0 when there were bad rows, unless they are skipped
	Cut       bool // the last bad row is too long to find its end: nothing is loaded
}

// The pace of an import.
const (
	batch    = 10_000  // rows that are kept before they are added
	progress = 100_000 // rows between two calls of Progress
)

// Import reads a file. When a row cannot be, or when anything fails, nothing of it is
// loaded.
func Import(ctx context.Context, s market.Store, file io.Reader, o Options) (rep Report, err error) {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	r, err := open(file, o)
	if err != nil {
		return rep, err
	}
	if err := o.check(); err != nil {
		return rep, err
	}
	l, err := begin(ctx, s, o.Waiting)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, l.Rollback()) }() // after a commit it does nothing
	sink, err := newSink(ctx, s, l, o, r)
	if err != nil {
		return rep, err
	}
	if rep, err = r.rows(ctx, o, sink); err != nil {
		return rep, err
	}
	if rep.Bad > 0 && !o.SkipBad || rep.Cut || rep.Rows == rep.Bad {
		return rep, nil
	}
	if err := sink.finish(ctx); err != nil {
		return rep, err
	}
	if err := l.Commit(ctx); err != nil {
		return rep, err
	}
	rep.Loaded = rep.Rows - rep.Bad
	return rep, nil
}

// patience is how long a load may take to begin before it is said that it waits.
const patience = 500 * time.Millisecond

// begin begins a load: another one may go on for minutes.
func begin(ctx context.Context, s market.Store, waiting func()) (l market.Load, err error) {
	done := make(chan struct{})
	go func() { defer close(done); l, err = s.Begin(ctx) }()
	told := time.NewTimer(patience)
	defer told.Stop()
	select {
	case <-done:
	case <-told.C:
		if waiting != nil {
			waiting()
		}
		<-done
	}
	return l, err
}

// reader is a CSV file with a head.
type reader struct {
	csv     *csv.Reader
	lines   *lines
	columns map[string]int // by our names
	width   int
	zone    *time.Location
	places  int  // the most digits after the point that a price had
	sign    byte // the decimal sign of the file; 0: none was read yet
}

// columnNames are the columns of each kind and what else they are called; the first ones are
// ours. A column that is required has a star.
var columnNames = map[string][][]string{
	Candles: {{"time*", "timestamp", "date", "datetime", "open_time", "gmt_time", "<date>"}, {"hour", "<time>"}, {"open*", "o", "<open>"}, {"high*", "h", "<high>"}, {"low*", "l", "<low>"}, {"close*", "c", "<close>"},
		{"volume", "v", "tick_volume", "tickvol", "<tickvol>", "<vol>"}, {"symbol", "pair"}},
	Calendar:  {{"time*", "timestamp", "date", "datetime"}, {"hour"}, {"currency*", "ccy"}, {"title*", "event", "name"}, {"impact*", "importance"}, {"actual"}, {"forecast", "consensus"}, {"previous"}, {"unit"}},
	Headlines: {{"time*", "timestamp", "date", "datetime"}, {"hour"}, {"title*", "headline"}, {"source"}, {"url", "link"}, {"currencies", "currency"}},
	COT: {{"date*", "report_date", "as_of"}, {"published"}, {"symbol", "pair"}, {"noncommercial_long*", "noncomm_long"}, {"noncommercial_short*", "noncomm_short"},
		{"commercial_long*", "comm_long"}, {"commercial_short*", "comm_short"}, {"open_interest*"}},
	Trades: {{"id*", "ticket"}, {"symbol", "pair"}, {"side*", "type", "direction"}, {"size*", "lots", "volume"}, {"opened*", "open_time", "entry_time"}, {"closed", "close_time", "exit_time"},
		{"entry*", "entry_price", "open_price"}, {"exit", "exit_price", "close_price"}, {"stop", "stop_loss", "sl"}, {"target", "take_profit", "tp"}, {"pnl", "profit"}, {"currency"}, {"notes", "comment"}},
}

// Kinds are the kinds of files.
func Kinds() []string { return slices.Sorted(maps.Keys(columnNames)) }

func refuse(format string, args ...any) error {
	return footnote.Errorf(footnote.InvalidRequest, format, args...)
}

// open reads the head of a file.
func open(file io.Reader, o Options) (*reader, error) {
	known, ok := columnNames[o.Kind]
	if !ok {
		return nil, refuse("There is no kind of file %q. The kinds are: %s.", o.Kind, strings.Join(Kinds(), ", "))
	}
	in, separator, err := peek(file)
	if err != nil {
		return nil, err
	}
	r := &reader{csv: csv.NewReader(in), lines: in, columns: map[string]int{}, zone: o.Zone}
	r.csv.Comma, r.csv.ReuseRecord, r.csv.FieldsPerRecord = separator, true, -1
	head, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, refuse("The file is empty. Its first line must name the columns.")
	}
	if err != nil {
		return nil, refuse("The first line, which names the columns, cannot be read: %v.", err)
	}
	r.width = len(head)
	names := make([]string, len(head)) // as they are compared
	for i, column := range head {
		names[i] = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(column), " ", "_"))
	}
	for _, aliases := range known {
		name, required := strings.CutSuffix(aliases[0], "*")
		aliases = append([]string{name}, aliases[1:]...)
		for i, column := range names {
			if slices.Contains(aliases, column) {
				if _, twice := r.columns[name]; !twice {
					r.columns[name] = i
				}
			}
		}
		if _, there := r.columns[name]; required && !there {
			return nil, refuse("The file has no column %s (or %s). Its first line, which must name the columns, is: %s.", name, strings.Join(aliases[1:], ", "), strings.Join(head, ", "))
		}
	}
	// A date with the time of day beside it is one time.
	if date, hour := slices.Index(names, "date"), slices.Index(names, "time"); date >= 0 && hour >= 0 && known[0][0] == "time*" {
		r.columns["time"], r.columns["hour"] = date, hour
	}
	r.tell(head, o.Unread)
	return r, nil
}

// tell says which columns are not read: of a misspelt one that may be missing, nothing else
// does.
func (r *reader) tell(head []string, unread func([]string)) {
	var list []string
	read := slices.Collect(maps.Values(r.columns))
	for i, column := range head {
		if !slices.Contains(read, i) {
			list = append(list, strings.TrimSpace(column))
		}
	}
	if len(list) > 0 && unread != nil {
		unread(list)
	}
}

// sink takes the rows of a kind.
type sink interface {
	row(f fields) error // why it cannot be
	flush(ctx context.Context) error
	finish(ctx context.Context) error // after the last row
}

// next reads a row into a sink: why it cannot be, or that the file cannot be read.
func (r *reader) next(to sink) (why, err error) {
	r.lines.row()
	record, err := r.csv.Read()
	wrong, isWrong := errors.AsType[*csv.ParseError](err)
	switch {
	case errors.Is(err, errLong):
		return errLong, nil
	case isWrong:
		return refuse("it is not CSV: %v", wrong.Err), nil
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("read the file: %w", err)
	case len(record) != r.width:
		return refuse("it has %d fields, and the first line %d", len(record), r.width), nil
	}
	return to.row(fields{r, record}), nil
}

// rows reads all rows, and those that can be into the sink as long as they will be
// loaded.
func (r *reader) rows(ctx context.Context, o Options, to sink) (rep Report, err error) {
	for kept := 1; ; kept++ {
		why, err := r.next(to)
		if errors.Is(err, io.EOF) {
			return rep, to.flush(ctx)
		}
		if err != nil {
			return rep, err
		}
		rep.Rows++
		if why != nil {
			rep.Bad++
			if o.Bad != nil {
				o.Bad(r.lines.begin, strings.TrimSuffix(footnote.MessageOf(why), "."))
			}
		}
		if rep.Cut = errors.Is(why, errLong); rep.Cut {
			return rep, nil
		}
		if kept >= batch {
			kept = 0
			if _, yet := to.(judge); !yet && rep.Bad > 0 && !o.SkipBad {
				to = judge{to} // nothing will be loaded: the rest is only looked at
			}
			if err := to.flush(ctx); err != nil {
				return rep, err
			}
		}
		if o.Progress != nil && rep.Rows%progress == 0 {
			o.Progress(rep.Rows)
		}
	}
}

// dropper is a sink that can forget its rows.
type dropper interface{ drop() }

// judge looks at rows and forgets them.
type judge struct{ sink }

func (j judge) flush(context.Context) error {
	if d, ok := j.sink.(dropper); ok {
		d.drop()
	}
	return nil
}
