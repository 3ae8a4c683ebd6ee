// Package importer reads market data from CSV into a market.Store. One file is one load: all of it or nothing.
package importer

import (
	"cmp"
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

// Options describes the content of a file and how to read it.
type Options struct {
	Kind      string
	Symbol    string // of candles, and of other rows without one
	Timeframe market.Timeframe
	Name      string // of the symbol; empty: unchanged, or the symbol itself
	Digits    int    // of its prices; negative: unchanged, or as in the file
	Org, User string // owner of the trades
	Currency  string // of trades without one; empty: unknown
	// Zone applies to times without a zone; nil: UTC.
	Zone      *time.Location
	Synthetic bool // the data is invented
	// SkipBad loads the good rows of a file with bad rows.
	SkipBad bool
	// Unread is called with the columns that are not used.
	Unread func(columns []string)
	// Waiting is called when the import waits for another load.
	Waiting func()
	// Progress is called from time to time with the number of rows read.
	Progress func(rows int)
	// Bad is called for each invalid row, with its line and the reason.
	Bad func(line int, reason string)
}

// Report is the result of an import.
type Report struct {
	Rows, Bad int
	Loaded    int  // 0 if there were bad rows, unless they are skipped
	Cut       bool // the last bad row was too long to find its end: nothing is loaded
}

// The pace of an import.
const (
	batch    = 10_000  // rows collected before they are added
	progress = 100_000 // rows between calls of Progress
)

// Import reads a file. If a row is invalid or anything fails, it loads nothing.
func Import(ctx context.Context, s market.Store, file io.Reader, o Options) (rep Report, err error) {
	o.Zone = cmp.Or(o.Zone, time.UTC)
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
	defer func() { err = errors.Join(err, l.Rollback()) }() // no effect after a commit
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

// patience is how long the start of a load may take before Waiting is called.
const patience = 500 * time.Millisecond

// begin starts a load. It may have to wait minutes for another one.
func begin(ctx context.Context, s market.Store, waiting func()) (l market.Load, err error) {
	done := make(chan struct{})
	go func() { defer close(done); l, err = s.Begin(ctx) }()
	notice := time.NewTimer(patience)
	defer notice.Stop()
	select {
	case <-done:
	case <-notice.C:
		if waiting != nil {
			waiting()
		}
		<-done
	}
	return l, err
}

// reader is a CSV file with a header.
type reader struct {
	csv     *csv.Reader
	lines   *lines
	columns map[string]int // index by our column names
	width   int
	zone    *time.Location
	places  int  // largest number of decimal places in a price
	sign    byte // decimal sign of the file; 0: not seen yet
}

// columnNames lists the columns of each kind with their aliases; the first name is ours. A star marks required
// columns.
var columnNames = map[string]string{
	Candles: "time* timestamp date datetime open_time gmt_time <date>, hour <time>, open* o <open>, high* h <high>, " +
		"low* l <low>, close* c <close>, volume v tick_volume tickvol <tickvol> <vol>, symbol pair",
	Calendar: "time* timestamp date datetime, hour, currency* ccy, title* event name, impact* importance, actual, " +
		"forecast consensus, previous, unit",
	Headlines: "time* timestamp date datetime, hour, title* headline, source, url link, currencies currency",
	COT: "date* report_date as_of, published, symbol pair, noncommercial_long* noncomm_long, " +
		"noncommercial_short* noncomm_short, commercial_long* comm_long, commercial_short* comm_short, open_interest*",
	Trades: "id* ticket, symbol pair, side* type direction, size* lots volume, opened* open_time entry_time, " +
		"closed close_time exit_time, entry* entry_price open_price, exit exit_price close_price, " +
		"stop stop_loss sl, target take_profit tp, pnl profit, currency, notes comment",
}

// Kinds returns the kinds of files.
func Kinds() []string { return slices.Sorted(maps.Keys(columnNames)) }

func refuse(format string, args ...any) error {
	return footnote.Invalidf(format, args...)
}

// open reads the header of a file.
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
	names := make([]string, len(head)) // normalised for comparison
	for i, column := range head {
		names[i] = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(column), " ", "_"))
	}
	for list := range strings.SplitSeq(known, ", ") {
		aliases := strings.Fields(list)
		name, required := strings.CutSuffix(aliases[0], "*")
		aliases[0] = name
		if i := slices.IndexFunc(names, func(n string) bool { return slices.Contains(aliases, n) }); i >= 0 {
			r.columns[name] = i
		} else if required {
			return nil, refuse("The file has no column %s (or %s). Its first line, which must name the columns, is: "+
				"%s.", name, strings.Join(aliases[1:], ", "), strings.Join(head, ", "))
		}
	}
	// A date next to a time of day forms one time.
	if date, hour := slices.Index(names, "date"), slices.Index(names, "time"); date >= 0 && hour >= 0 &&
		strings.HasPrefix(known, "time*") {
		r.columns["time"], r.columns["hour"] = date, hour
	}
	// Nothing else would reveal a misspelt optional column.
	read := slices.Collect(maps.Values(r.columns))
	var unread []string
	for i, column := range head {
		if !slices.Contains(read, i) {
			unread = append(unread, strings.TrimSpace(column))
		}
	}
	if len(unread) > 0 && o.Unread != nil {
		o.Unread(unread)
	}
	return r, nil
}

// sink receives the rows of the given kind.
type sink interface {
	row(f *fields) error // returns why the row is invalid
	// flush adds the rows since the last flush, or discards them.
	flush(ctx context.Context, add bool) error
	finish(ctx context.Context) error // called after the last row
}

// next reads a row into a sink. It returns why the row is invalid, or an error if the file cannot be read.
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
	return to.row(&fields{r: r, record: record}), nil
}

// rows reads all rows. It passes valid rows to the sink as long as they will be loaded.
func (r *reader) rows(ctx context.Context, o Options, to sink) (rep Report, err error) {
	for kept := 1; ; kept++ {
		why, err := r.next(to)
		if errors.Is(err, io.EOF) {
			return rep, to.flush(ctx, rep.Bad == 0 || o.SkipBad)
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
			// With a bad row nothing will be loaded, so the rest is only checked.
			if err := to.flush(ctx, rep.Bad == 0 || o.SkipBad); err != nil {
				return rep, err
			}
		}
		if o.Progress != nil && rep.Rows%progress == 0 {
			o.Progress(rep.Rows)
		}
	}
}
