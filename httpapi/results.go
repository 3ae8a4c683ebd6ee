package httpapi

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/export"
	"github.com/footnotehq/footnote/internal/view"
	"github.com/footnotehq/footnote/protocol"
)

func (s *Server) resultRoutes() {
	s.Handle("/api/results/{id}", protocol.Native, get(s.getResult))
	s.Handle("/api/results/{id}/export", protocol.Native, get(s.exportAll))
	s.Handle("/api/results/{id}/origins", protocol.Native, get(s.withSlot(s.getOrigins)))
}

// maxPageRows is the maximum number of rows on one page.
const maxPageRows = 10_000

// getResult handles GET /api/results/{id}: it returns a page of the rows, or all of them as a file if a format is
// given. The rows may be filtered, sorted and aggregated.
func (s *Server) getResult(w http.ResponseWriter, r *http.Request) error {
	stream, res, err := s.result(r, r.PathValue("id"))
	if err != nil {
		return err
	}
	values := r.URL.Query()
	format := values.Get("format")
	offset, err := protocol.Number(values, "offset", 0, 0, 1<<40)
	if err != nil {
		return err
	}
	limit, err := protocol.Number(values, "limit", 1000, 1, maxPageRows)
	if err != nil {
		return err
	}
	q, err := view.Parse(values, res.Columns)
	if err != nil {
		return err
	}
	out := pageOf(r.PathValue("id"), res, offset)
	if out.SourceChanged, err = s.changedSince(r.Context(), stream, res); err != nil {
		return err
	}
	if q.Plain() {
		if format != "" {
			rows := s.chunks(r.Context(), stream, res)
			return s.download(w, r, format, export.Table{Columns: res.Columns, Rows: rows})
		}
		out.Rows, err = s.page(r.Context(), stream, res, int(offset), int(limit))
		return reply(w, out, err)
	}
	v, err := s.view(r, stream, res, q)
	if err != nil {
		return err
	}
	if q.Aggregated() {
		out.Columns = q.Columns()
	}
	if format != "" {
		return s.download(w, r, format, export.Table{Columns: out.Columns, Rows: v.Chunks(out.Columns)})
	}
	n := len(v.Rows)
	from := min(int(offset), n)
	to := min(from+int(limit), n)
	out.Matching, out.Rows = &n, append([]json.RawMessage{}, v.Rows[from:to]...)
	if v.Numbers != nil {
		out.Numbers = v.Numbers[from:to]
	}
	return reply(w, out, nil)
}

// changedSince returns when the upload that the rows of a result come from was changed after they were read, or nil.
func (s *Server) changedSince(ctx context.Context, stream string, res footnote.StoredResult) (*time.Time, error) {
	if s.opts.Data == nil {
		return nil, nil
	}
	changed := s.opts.Data.Changed(PrincipalOf(ctx), res.Source)
	if changed.IsZero() {
		return nil, nil
	}
	for ev, err := range s.opts.Log.Events(ctx, stream, 0) {
		if err != nil {
			return nil, err
		}
		if stored := footnote.ResultOf(ev.Body); stored != nil && stored.ID == res.ID {
			read := ev.Time
			if t, ok := ev.Body.(footnote.ToolResult); ok && t.CacheHit {
				read = t.RanAt
			}
			if read.Before(changed) {
				return &changed, nil
			}
			break
		}
	}
	return nil, nil
}

// pageOf returns a page of a result without its rows.
func pageOf(id string, res footnote.StoredResult, offset int64) protocol.ResultPage {
	return protocol.ResultPage{
		ID: id, Source: res.Source, SQL: res.SQL, Columns: append([]footnote.Column{}, res.Columns...),
		RowCount: res.RowCount, Truncated: res.Truncated, Offset: offset,
	}
}

// view returns a view of a result. Making one needs a slot, like a query.
func (s *Server) view(r *http.Request, stream string, res footnote.StoredResult, q view.Query) (view.View, error) {
	if q.Aggregated() && (res.Truncated || res.Kept() < res.RowCount) {
		return view.View{}, footnote.Invalidf("The result holds only the first %d rows of its query, so an aggregate "+
			"of them would be wrong.", res.Kept())
	}
	return s.views.get(stream+"."+res.ID+"?"+q.String(), func() (view.View, error) {
		leave, err := s.tally.slot(r.Context(), ownerOf(PrincipalOf(r.Context())))
		if err != nil {
			return view.View{}, err
		}
		defer leave()
		return q.Run(s.blobs(r.Context(), stream, res))
	})
}

// views keeps the newest views, because a grid asks for one page after another.
type views struct {
	mu   sync.Mutex // guards kept
	kept []keptView // newest last
}

type keptView struct {
	name string
	view.View
}

// Limits of the views that are kept.
const (
	maxViewBytes = 128 << 20
	maxViews     = 256
)

// get returns a view that is kept, or makes it.
func (v *views) get(name string, create func() (view.View, error)) (view.View, error) {
	if found, ok := v.find(name); ok {
		return found, nil
	}
	made, err := create()
	if err != nil {
		return made, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.kept = append(v.kept, keptView{name, made})
	bytes := 0
	for i, k := range slices.Backward(v.kept) {
		if bytes += k.Bytes(); bytes > maxViewBytes || len(v.kept)-i > maxViews {
			v.kept = slices.Delete(v.kept, 0, i+1)
			break
		}
	}
	return made, nil
}

func (v *views) find(name string) (view.View, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := slices.IndexFunc(v.kept, func(k keptView) bool { return k.name == name })
	if i < 0 {
		return view.View{}, false
	}
	found := v.kept[i]
	v.kept = append(slices.Delete(v.kept, i, i+1), found)
	return found.View, true
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
		if stored := footnote.ResultOf(ev.Body); stored != nil {
			all = append(all, *stored)
		}
	}
	return all, nil
}

// page reads limit rows from offset, as they are stored.
func (s *Server) page(ctx context.Context, stream string, res footnote.StoredResult,
	offset, limit int) ([]json.RawMessage, error) {
	page := []json.RawMessage{}
	for len(res.Chunks) > 0 && offset >= res.Chunks[0].Rows {
		offset -= res.Chunks[0].Rows
		res.Chunks = res.Chunks[1:]
	}
	for data, err := range s.blobs(ctx, stream, res) {
		if err == nil {
			err = footnote.EachRow(data, nil, func(_ []any, raw []byte) {
				if offset--; offset < 0 && len(page) < limit {
					page = append(page, raw)
				}
			})
		}
		if err != nil || len(page) == limit {
			return page, err
		}
	}
	return page, nil
}

// download sends rows as a file. A header says how many texts a spreadsheet would have executed.
func (s *Server) download(w http.ResponseWriter, r *http.Request, name string, t export.Table) error {
	format, err := formatOf(name)
	if err != nil {
		return err
	}
	h := w.Header()
	switch keep := r.URL.Query().Get("formulas"); {
	case keep != "" && keep != "keep":
		return footnote.Invalidf("formulas must be keep.")
	case keep != "":
		t.Formulas = true
	case name == "csv" || name == "xlsx":
		n, err := export.Formulas(t)
		if err != nil {
			return err
		}
		if n > 0 {
			h.Set("X-Neutralized-Formulas", strconv.Itoa(n))
		}
	}
	h.Set("Content-Type", format.ContentType)
	attach(w, r, r.PathValue("id"), format.Extension)
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return nil
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := format.Write(out, t); err != nil {
		return err
	}
	return out.Flush()
}

// formatOf returns the file format with a name.
func formatOf(name string) (export.Format, error) {
	format, ok := export.Formats()[name]
	if !ok {
		return format, footnote.Invalidf("format must be one of %s.",
			strings.Join(slices.Sorted(maps.Keys(export.Formats())), ", "))
	}
	return format, nil
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
		for data, err := range s.blobs(ctx, stream, res) {
			var rows [][]any
			if err == nil {
				rows, err = footnote.DecodeRows(data, res.Columns)
			}
			if !yield(rows, err) || err != nil {
				return
			}
		}
	}
}

// blobs yields the chunks of a result.
func (s *Server) blobs(ctx context.Context, stream string, res footnote.StoredResult) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, c := range res.Chunks {
			data, err := s.opts.Log.Blob(ctx, stream, c.Digest)
			if err != nil {
				err = res.ReadError(err)
			}
			if !yield(data, err) || err != nil {
				return
			}
		}
	}
}
