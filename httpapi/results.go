package httpapi

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
	"github.com/footnotehq/footnote/protocol"
)

func (s *Server) resultRoutes() {
	s.Handle("/api/results/{id}", protocol.Native, get(s.getResult))
	s.Handle("/api/results/{id}/origins", protocol.Native, get(s.withSlot(s.getOrigins)))
}

// maxPageRows is the maximum number of rows on one page.
const maxPageRows = 10_000

// getResult handles GET /api/results/{id}: it returns a page of the rows, or all of them as a file if a
// format is given.
func (s *Server) getResult(w http.ResponseWriter, r *http.Request) error {
	stream, res, err := s.result(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	q := r.URL.Query()
	if name := q.Get("format"); name != "" {
		return s.download(w, r, name, stream, res)
	}
	offset, err := protocol.Number(q, "offset", 0, 0, 1<<40)
	if err != nil {
		return err
	}
	limit, err := protocol.Number(q, "limit", 1000, 1, maxPageRows)
	if err != nil {
		return err
	}
	rows, err := s.page(r.Context(), stream, res, int(offset), int(limit))
	if err != nil {
		return err
	}
	columns := append([]footnote.Column{}, res.Columns...)
	return protocol.WriteValue(w, http.StatusOK, struct {
		ID        string            `json:"id"`
		Source    string            `json:"source"`
		SQL       string            `json:"sql"`
		Columns   []footnote.Column `json:"columns"`
		RowCount  int               `json:"row_count"`
		Truncated bool              `json:"truncated"`
		Offset    int64             `json:"offset"`
		Rows      []json.RawMessage `json:"rows"`
	}{r.PathValue("id"), res.Source, res.SQL, columns, res.RowCount, res.Truncated, offset, rows})
}

// result returns the stored result with the id "<conversation>.<r3>".
func (s *Server) result(r *http.Request, id string) (stream string, res footnote.StoredResult, err error) {
	missing := footnote.Errorf(footnote.NotFound, "There is no such result.")
	dot := strings.LastIndexByte(id, '.')
	if dot < 0 {
		return "", res, missing
	}
	head, err := s.conversation(r, id[:dot])
	if footnote.CodeOf(err) == footnote.NotFound {
		return "", res, missing
	}
	if err != nil {
		return "", res, err
	}
	all, err := s.results(r.Context(), head.ID)
	if err != nil {
		return "", res, err
	}
	i := slices.IndexFunc(all, func(stored footnote.StoredResult) bool { return stored.ID == id[dot+1:] })
	if i < 0 || !s.maySee(PrincipalOf(r.Context()), all, all[i]) {
		return "", res, missing
	}
	return head.ID, all[i], nil
}

// results returns the stored results of a conversation, oldest first.
func (s *Server) results(ctx context.Context, stream string) (all []footnote.StoredResult, err error) {
	for ev, err := range s.opts.Log.Events(ctx, stream, 0) {
		if err != nil {
			return nil, err
		}
		if stored := storedIn(ev.Body); stored != nil {
			all = append(all, *stored)
		}
	}
	return all, nil
}

// storedIn returns the result in an event, or nil.
func storedIn(b footnote.Body) *footnote.StoredResult {
	switch b := b.(type) {
	case footnote.ToolResult:
		return b.Result
	case footnote.QueryRun:
		return &b.Result
	default:
		return nil
	}
}

// page reads limit rows from offset, as they are stored.
func (s *Server) page(ctx context.Context, stream string, res footnote.StoredResult,
	offset, limit int) ([]json.RawMessage, error) {
	page := []json.RawMessage{}
	for _, c := range res.Chunks {
		if offset >= c.Rows {
			offset -= c.Rows
			continue
		}
		data, err := s.opts.Log.Blob(ctx, stream, c.Digest)
		if err != nil {
			return nil, fmt.Errorf("read rows of %s: %w", res.ID, err)
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, fmt.Errorf("decode rows of %s: %w", res.ID, err)
		}
		rows = rows[min(offset, len(rows)):]
		rows = rows[:min(len(rows), limit-len(page))]
		page = append(page, rows...)
		if offset = 0; len(page) == limit {
			break
		}
	}
	return page, nil
}

// download sends all rows as a file.
func (s *Server) download(w http.ResponseWriter, r *http.Request, name, stream string,
	res footnote.StoredResult) error {
	format, ok := export.Formats()[name]
	if !ok {
		return footnote.Invalidf("format must be one of %s.",
			strings.Join(slices.Sorted(maps.Keys(export.Formats())), ", "))
	}
	h := w.Header()
	h.Set("Content-Type", format.ContentType)
	attach(w, r, r.PathValue("id"), format.Extension)
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return nil
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := format.Write(out, export.Table{
		Columns: res.Columns,
		Rows:    s.chunks(r.Context(), stream, res),
	}); err != nil {
		return err
	}
	return out.Flush()
}

// maxName is the maximum number of characters of a download's name.
const maxName = 100

// attach marks a response as a file to save. The query can name it; the extension is always the format's.
func attach(w http.ResponseWriter, r *http.Request, fallback, extension string) {
	name := []rune(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || strings.ContainsRune(`/\`, c) || c == unicode.ReplacementChar {
			return -1
		}
		return c
	}, r.URL.Query().Get("name")))
	file := cmp.Or(string(name[:min(len(name), maxName)]), fallback) + "." + extension
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file}))
}

// allRows returns a function that reads the stored rows of a result.
func (s *Server) allRows(stream string) func(context.Context, footnote.StoredResult) ([][]any, error) {
	return func(ctx context.Context, res footnote.StoredResult) (all [][]any, err error) {
		for rows, err := range s.chunks(ctx, stream, res) {
			if err != nil {
				return nil, err
			}
			all = append(all, rows...)
		}
		return all, nil
	}
}

// chunks yields the rows as they are stored.
func (s *Server) chunks(ctx context.Context, stream string, res footnote.StoredResult) iter.Seq2[[][]any, error] {
	return func(yield func([][]any, error) bool) {
		for _, c := range res.Chunks {
			data, err := s.opts.Log.Blob(ctx, stream, c.Digest)
			var rows [][]any
			if err == nil {
				rows, err = footnote.DecodeRows(data, res.Columns)
			}
			if err != nil {
				yield(nil, fmt.Errorf("read rows of %s: %w", res.ID, err))
				return
			}
			if !yield(rows, nil) {
				return
			}
		}
	}
}
