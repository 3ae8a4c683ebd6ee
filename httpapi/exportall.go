package httpapi

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
)

// noteTrailer is the trailer of an export with the note that is also in the file.
const noteTrailer = "X-Export-Note"

// exportAll handles GET /api/results/{id}/export: it runs the statement of a result again, and streams all its rows to
// a file.
func (s *Server) exportAll(w http.ResponseWriter, r *http.Request) error {
	stream, res, err := s.result(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	format, err := formatOf(cmp.Or(r.URL.Query().Get("format"), "csv"))
	if err != nil {
		return err
	}
	keep := r.URL.Query().Get("formulas")
	if keep != "" && keep != "keep" {
		return footnote.Invalidf("formulas must be keep.")
	}
	if err := canRunAgain(res); err != nil {
		return err
	}
	leave, err := s.exports.enter(ownerOf(PrincipalOf(r.Context())), res.Source)
	if err != nil {
		return err
	}
	defer leave()
	footnoted, err := s.digestOf(r.Context(), stream, res)
	if err != nil {
		return err
	}
	clearance, err := s.approved(r.Context(), stream, res)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", format.ContentType)
	attach(w, r, r.PathValue("id"), format.Extension)
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return nil
	}
	h.Set("Trailer", noteTrailer)
	q := OwnQuery{
		Protocol: "app", Conversation: stream, Statement: footnote.Statement{SQL: res.SQL, Source: res.Source},
	}
	return s.reported(r.Context(), &q, func() error {
		var ctx context.Context
		ctx, q.ran = footnote.WithStatements(footnote.WithClearance(r.Context(), clearance))
		e := &exporting{stored: res, rows: digest{sum: sha256.New(), most: res.Kept()}}
		out := bufio.NewWriterSize(w, 64<<10)
		err := format.Write(out, export.Table{
			Columns: res.Columns, Sample: s.chunks(ctx, stream, res), Formulas: keep != "", Note: func() string {
				return e.note(footnoted)
			},
			Rows: e.batches(func(each func(row []any) error) ([]footnote.Column, string, error) {
				return s.opts.Data.Export(ctx, PrincipalOf(ctx), res.Source, res.SQL, each)
			}),
		})
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			h.Del("Trailer") // an error before the first row is an answer of its own
			return err
		}
		h.Set(noteTrailer, e.note(footnoted))
		return nil
	})
}

// approved returns the clearance of a statement that a call has run: if its costs were approved by the person who now
// asks for all rows, they are approved again, up to the same estimate.
func (s *Server) approved(ctx context.Context, stream string, res footnote.StoredResult) (*footnote.Clearance, error) {
	asked, given, clearance := map[string]string{}, map[string]bool{}, &footnote.Clearance{}
	for ev, err := range s.opts.Log.Events(ctx, stream, 0) {
		if err != nil {
			return nil, err
		}
		switch b := ev.Body.(type) {
		case footnote.ApprovalAsked:
			if b.Reason != "" {
				asked[b.ApprovalID] = b.CallID
			}
		case footnote.ApprovalGiven:
			given[asked[b.ApprovalID]] = b.Approved && b.User == PrincipalOf(ctx).User
		case footnote.ToolResult:
			if b.Result == nil || b.Result.ID != res.ID || b.CallID == "" || !given[b.CallID] {
				continue
			}
			for _, st := range b.Statements {
				if st.SQL == res.SQL && st.Estimate != "" {
					clearance.Given, clearance.Estimate = true, st.Estimate
				}
			}
		}
	}
	return clearance, nil
}

// canRunAgain refuses a result whose rows do not come from a statement that can run again as it is.
func canRunAgain(res footnote.StoredResult) error {
	switch {
	case len(res.Parents) > 0:
		return footnote.Invalidf("This result was calculated from other results. Download its rows as they are stored.")
	case res.Source == "" || res.SQL == "" || res.Source == "client":
		return footnote.Invalidf("The rows of this result do not come from a source. Download them as they are stored.")
	case strings.Contains(res.SQL, "\n-- $"):
		return footnote.Invalidf("The statement of this result has parameters, so it cannot run again by itself. " +
			"Download the rows as they are stored, or run the statement with its values.")
	}
	return nil
}

// exporting is a statement whose rows go to a file.
type exporting struct {
	stored footnote.StoredResult
	rows   digest   // of the first rows, as many as are stored
	names  []string // of the columns now
	left   string   // a note about rows that were left out
}

// exportBatch is the number of rows that are written together.
const exportBatch = 1000

var errWritten = errors.New("the file takes no more rows")

// batches runs a statement while its rows are read.
func (e *exporting) batches(
	run func(each func(row []any) error) (columns []footnote.Column, note string, err error),
) iter.Seq2[[][]any, error] {
	return func(yield func([][]any, error) bool) {
		batch := make([][]any, 0, exportBatch)
		columns, note, err := run(func(row []any) error {
			if len(row) != len(e.stored.Columns) {
				return footnote.Errorf(footnote.Conflict, "The statement returns other columns now. Run it again.")
			}
			e.rows.add(row)
			if batch = append(batch, row); len(batch) < exportBatch {
				return nil
			}
			full := batch
			batch = batch[:0]
			if !yield(full, nil) {
				return errWritten
			}
			return nil
		})
		e.left, e.names = note, namesOf(columns)
		if errors.Is(err, errWritten) {
			return
		}
		yield(batch, err)
	}
}

// note says how the rows differ from the stored ones, and which are left out.
func (e *exporting) note(footnoted string) string {
	var notes []string
	if was := namesOf(e.stored.Columns); !slices.Equal(was, e.names) {
		notes = append(notes, fmt.Sprintf("The columns are named %s now; the file has their names of when they were "+
			"footnoted, %s.", strings.Join(e.names, ", "), strings.Join(was, ", ")))
	}
	switch {
	case !e.stored.Truncated && e.rows.seen != e.stored.RowCount:
		notes = append(notes, fmt.Sprintf("The statement returned %d rows when it was footnoted, and %d now.",
			e.stored.RowCount, e.rows.seen))
	case e.rows.String() != footnoted:
		notes = append(notes, fmt.Sprintf("The first %d rows are not those that were footnoted: the data or their "+
			"order have changed since.", e.stored.Kept()))
	}
	if e.left != "" {
		notes = append(notes, e.left)
	}
	return strings.Join(notes, " ")
}

func namesOf(columns []footnote.Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// digest identifies the first rows of a result, in their order.
type digest struct {
	sum  hash.Hash
	most int // rows that count
	seen int // rows so far
	line []byte
}

func (d *digest) add(row []any) {
	if d.seen++; d.seen > d.most {
		return
	}
	d.line = footnote.AppendRow(d.line[:0], row)
	_, _ = d.sum.Write(d.line) // a hash takes everything
}

func (d *digest) String() string { return string(d.sum.Sum(nil)) }

// digestOf returns the digest of the stored rows.
func (s *Server) digestOf(ctx context.Context, stream string, res footnote.StoredResult) (string, error) {
	sum := sha256.New()
	for data, err := range s.blobs(ctx, stream, res) {
		if err == nil {
			err = footnote.EachRow(data, nil, func(_ []any, raw []byte) { _, _ = sum.Write(raw) })
		}
		if err != nil {
			return "", err
		}
	}
	return string(sum.Sum(nil)), nil
}

// exports counts the exports under way.
type exports struct {
	mu      sync.Mutex // guards below
	users   map[owner]bool
	sources map[string]int
}

// exportsPerSource leaves the other half of a source's queries to conversations.
const exportsPerSource = 2

// enter counts an export until leave is called.
func (e *exports) enter(user owner, source string) (leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users == nil {
		e.users, e.sources = map[owner]bool{}, map[string]int{}
	}
	if e.users[user] {
		return nil, tooMany("You have %d export under way. Wait for it, or cancel it.", 1)
	}
	if e.sources[source] >= exportsPerSource {
		return nil, tooMany("%d exports read this source, the most at a time. Try again later.", exportsPerSource)
	}
	e.users[user] = true
	e.sources[source]++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.users, user)
		e.sources[source]--
	}, nil
}
