package tidy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Limits bound what Plan accepts. Zero fields take the defaults.
type Limits struct {
	Bytes   int64 // file size; default 2 GB
	Rows    int64 // default 50 million
	Columns int   // default 4,096
}

// WithDefaults returns the limits without zero fields.
func (l Limits) WithDefaults() Limits {
	l.Bytes = cmp.Or(max(l.Bytes, 0), 2<<30)
	l.Rows = cmp.Or(max(l.Rows, 0), 50_000_000)
	l.Columns = cmp.Or(max(l.Columns, 0), 4096)
	return l
}

// Counts accounts for every non-blank record of a file. Records is the sum of the other counts.
type Counts struct {
	Records int64
	Loaded  int64 // rows of the table
	Titles  int64 // lines above the header
	Headers int64 // the header and repetitions of it
	Totals  int64 // totals rows whose numbers are the column sums
	Remarks int64 // remarks below the table
}

// Table is an analysed file. It can be read many times.
type Table struct {
	Columns []Column
	Notes   []string // the decisions, for people and models
	Counts  Counts

	path   string
	format format
	head   header
	omit   map[int64]reason // numbers of the records that are not rows
}

// format describes how the text of a file is written.
type format struct {
	encoding string
	delim    byte
	mac      bool
	declared bool // a first line such as "sep=;" names the separator
}

type reason uint8

const (
	isTotal reason = iota + 1
	isRemark
	isRepeat
)

// Comment returns the notes as one line.
func (t *Table) Comment() string { return strings.Join(t.Notes, "; ") }

// Plan reads a whole text file and decides the types of its columns. If the file is not a table, it returns an
// *Error with the reason.
func Plan(ctx context.Context, path string, limits Limits) (*Table, error) {
	t := &Table{path: path, omit: make(map[int64]reason)}
	limits = limits.WithDefaults()
	_, err := sizeOf(path, limits)
	if err != nil {
		return nil, err
	}
	if t.format.encoding, err = detectEncoding(path); err != nil {
		return nil, err
	}
	rows, err := t.detectFormat()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errorf("The file has no rows: only blank lines.")
	}
	t.head = detectHeader(rows)
	s, err := t.survey(ctx, limits)
	if err != nil {
		return nil, err
	}
	return t, t.finish(s, limits)
}

// sizeOf returns the size of a file, or an error if it is empty or beyond the limit.
func sizeOf(path string, limits Limits) (int64, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return 0, err
	case info.Size() == 0:
		return 0, errorf("The file is empty.")
	case info.Size() > limits.Bytes:
		return 0, errorf("The file has %d MB; the limit is %d MB. Split it, or convert it to Parquet with fewer "+
			"columns.", info.Size()>>20, limits.Bytes>>20)
	}
	return info.Size(), nil
}

// detectFormat sets the separator and returns the first records.
func (t *Table) detectFormat() ([]row, error) {
	r, err := openText(t.path, t.format.encoding)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	sample := make([]byte, sampleSize)
	n, err := io.ReadFull(r, sample)
	whole := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !whole {
		return nil, err
	}
	sample = sample[:n]
	t.format.mac = bytes.IndexByte(sample, '\n') < 0 && bytes.IndexByte(sample, '\r') >= 0
	if !whole {
		if i := bytes.LastIndexAny(sample, "\r\n"); i > 0 {
			sample = sample[:i+1]
		}
	}
	if rest, delim, ok := declaredSeparator(sample); ok {
		t.format.delim, t.format.declared = delim, true
		sample = rest
	} else {
		t.format.delim = detectSeparator(sample, t.format.mac)
	}
	var rows []row
	s := newSplitter(bytes.NewReader(sample), t.format.delim, t.format.mac)
	for len(rows) < headRows {
		fields, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		var r row
		r.fill(fields, s.blanks)
		rows = append(rows, r)
	}
	return rows, nil
}

// declaredSeparator parses a line such as "sep=;", which Excel writes.
func declaredSeparator(b []byte) (rest []byte, delim byte, ok bool) {
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	line = bytes.Trim(bytes.TrimSpace(line), `"`)
	if len(line) != len("sep=;") || !bytes.EqualFold(line[:4], []byte("sep=")) || plain(line[4]) {
		return b, 0, false
	}
	return rest, line[4], true
}

// records calls each for every record of the file with its number, counting from zero. The fields are valid only
// during the call.
func (t *Table) records(ctx context.Context, each func(number int64, fields [][]byte, blanks int) error) error {
	r, err := openText(t.path, t.format.encoding)
	if err != nil {
		return err
	}
	defer r.Close()
	s := newSplitter(r, t.format.delim, t.format.mac)
	if t.format.declared {
		if _, err := s.next(); err != nil {
			return err
		}
	}
	for number := int64(0); ; number++ {
		if number&1023 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fields, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(number, fields, s.blanks); err != nil {
			return err
		}
	}
}

// survey collects the results of the first pass.
type survey struct {
	columns     []*cells
	records     int64
	long, short int64 // number of rows with more or fewer cells than the header
	data        bool  // there was a row that is not a subtotal
	tail        tail
}

// survey examines every cell except those of the last rows: only at the end of the file is it clear whether they
// are data.
func (t *Table) survey(ctx context.Context, limits Limits) (*survey, error) {
	s := &survey{}
	for range t.head.width {
		s.columns = append(s.columns, newCells())
	}
	err := t.records(ctx, func(number int64, fields [][]byte, blanks int) error {
		s.records++
		switch {
		case number < int64(t.head.skip):
			return nil
		case number > limits.Rows:
			return errorf("The file has more than %d rows.", limits.Rows)
		case t.head.names != nil && sameCells(fields, t.head.raw.cells):
			t.omit[number] = isRepeat
			return nil
		}
		switch subtotal := isSubtotal(fields); {
		case subtotal && s.data:
			t.omit[number] = isTotal
			return nil
		case !subtotal:
			s.data = true
		}
		if old, ok := s.tail.push(number, fields, blanks); ok {
			return s.observe(old.cells, t.head.width, limits)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, t.settle(ctx, s, limits)
}

func sameCells(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// observe records a row of data.
func (s *survey) observe(cells [][]byte, width int, limits Limits) error {
	last := extent(cells)
	if last > width {
		s.long++
	}
	if len(cells) < width {
		s.short++
	}
	if last > limits.Columns {
		return errorf("The file has more than %d columns.", limits.Columns)
	}
	for len(s.columns) < last {
		s.columns = append(s.columns, newCells())
	}
	for i, c := range cells[:last] {
		s.columns[i].add(c)
	}
	return nil
}

// extent returns the width up to the last non-empty cell.
func extent(cells [][]byte) int {
	width := len(cells)
	for width > 0 && len(trim(cells[width-1])) == 0 {
		width--
	}
	return width
}

// finish sets the types of the columns and writes the notes.
func (t *Table) finish(s *survey, limits Limits) error {
	width := len(s.columns)
	if width > limits.Columns {
		return errorf("The file has more than %d columns.", limits.Columns)
	}
	for width > 1 && s.columns[width-1].count == 0 && s.columns[width-1].naSeen == 0 &&
		s.columns[width-1].dashSeen == 0 && !t.named(width-1) {
		width-- // there are only separators at the ends of lines
	}
	preferred := prefer(s.columns, t.format.delim)
	for i, name := range columnNames(t.head.names, width) {
		c := Column{Name: name, cells: s.columns[i]}
		c.decide(preferred)
		t.Columns = append(t.Columns, c)
	}
	t.count(s)
	t.note(s)
	return nil
}

func (t *Table) named(i int) bool {
	return i < len(t.head.names) && cleanName(t.head.names[i]) != ""
}

func (t *Table) count(s *survey) {
	omitted := map[reason]int64{}
	for _, why := range t.omit {
		omitted[why]++
	}
	n := Counts{
		Records: s.records, Titles: int64(len(t.head.titles)), Headers: omitted[isRepeat], Totals: omitted[isTotal],
		Remarks: omitted[isRemark],
	}
	if t.head.names != nil {
		n.Headers++
	}
	n.Loaded = n.Records - n.Titles - n.Headers - n.Totals - n.Remarks
	t.Counts = n
}

var errChanged = errorf("The file changed while it was being read. Try again.")

// Each reads the file again and calls add for every row, in order, with one value per column; see Type. The slice
// is reused after the call.
func (t *Table) Each(ctx context.Context, add func(values []any) error) error {
	values := make([]any, len(t.Columns))
	var loaded, seen int64
	err := t.records(ctx, func(number int64, fields [][]byte, _ int) error {
		seen++
		if number < int64(t.head.skip) || t.omit[number] != 0 {
			return nil
		}
		for i := range t.Columns {
			values[i] = nil
			if i < len(fields) {
				v, ok := t.Columns[i].value(fields[i])
				if !ok {
					return errChanged
				}
				values[i] = v
			}
		}
		loaded++
		return add(values)
	})
	if err == nil && (loaded != t.Counts.Loaded || seen != t.Counts.Records) {
		return errChanged
	}
	return err
}

// note writes the notes about the decisions.
func (t *Table) note(s *survey) {
	say := func(format string, args ...any) { t.Notes = append(t.Notes, fmt.Sprintf(format, args...)) }
	how := "read as text with one column"
	switch t.format.delim {
	case 0:
	case '\t':
		how = "read as tab-separated"
	default:
		how = fmt.Sprintf("read as %c separated", t.format.delim)
	}
	if t.format.encoding != utf8Name {
		how += ", " + t.format.encoding
	}
	say("%s", how)
	if n := t.Counts.Titles; n > 0 {
		say("%s above the header left out (%q)", plural(n, "line"), t.head.titles[0])
	}
	if t.head.names == nil {
		say("no header found: columns are called column_1, column_2, …")
	}
	if n := t.Counts.Headers - 1; n > 0 {
		say("the header is repeated: %s left out", plural(n, "row"))
	}
	if n := t.Counts.Totals; n > 0 {
		say("%s left out", plural(n, "totals row"))
	}
	if n := t.Counts.Remarks; n > 0 {
		say("%s below the table left out (%q)", plural(n, "remark"), s.tail.remark)
	}
	if s.tail.total != "" {
		say("%s", s.tail.total)
	}
	if s.long > 0 {
		say("%s more cells than the header", has(s.long))
	}
	if s.short > 0 && t.format.delim != 0 {
		say("%s fewer cells than the header; the missing ones are empty", has(s.short))
	}
	t.noteNames(say)
	t.noteColumns(say)
}

// noteNames lists the columns that were renamed because an earlier column has the same name.
func (t *Table) noteNames(say func(string, ...any)) {
	for i, c := range t.Columns {
		if !t.named(i) {
			continue
		}
		if name := cleanName(t.head.names[i]); name != c.Name {
			say("a second %q is now called %s", name, c.Name)
		}
	}
}

// noteColumns describes decisions that apply to many columns: separators and dates.
func (t *Table) noteColumns(say func(string, ...any)) {
	dates := make(map[string][]string)
	var order []string
	commas := false
	for _, c := range t.Columns {
		commas = commas || (c.mode == comma && (c.Type == Decimal || c.Type == Double || c.cells.modes == comma))
		if text, ok := strings.CutPrefix(c.Comment, "dates written "); ok {
			text, _, _ = strings.Cut(text, ";")
			if dates[text] == nil {
				order = append(order, text)
			}
			dates[text] = append(dates[text], c.Name)
		}
	}
	if commas {
		say("decimal comma")
	}
	for _, text := range order {
		say("dates %s in %s", text, strings.Join(dates[text], ", "))
	}
	for _, c := range t.Columns {
		_, doubt, ambiguous := strings.Cut(c.Comment, "ambiguous: ")
		switch {
		case ambiguous:
			say("%s is ambiguous: %s", c.Name, doubt)
		case strings.HasPrefix(c.Comment, "stays text"), strings.HasPrefix(c.Comment, "in percent"):
			say("%s %s", c.Name, c.Comment)
		}
	}
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func has(n int64) string {
	if n == 1 {
		return "1 row has"
	}
	return fmt.Sprintf("%d rows have", n)
}
