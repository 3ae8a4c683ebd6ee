package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/access"
	"github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/catalog"
	"github.com/footnotehq/footnote/tool/profile"
	"github.com/footnotehq/footnote/tool/query"
)

// data implements httpapi.Data: the data that people can look at through the API.
type data struct{ *App }

// openCatalog opens the catalogue of the configured sources and of uploads.
func openCatalog(c config.Config, rules *access.Rules, configured sources, p processes, folder string,
	log *slog.Logger) (*catalog.Catalog, error) {
	o := catalog.Options{
		Fixed: configured, Shared: c.NeedsKey(), Allows: rules.Source, MaxBytes: c.UploadLimit, Logger: log,
	}
	if c.UploadLimit > 0 {
		o.Folder = folder
		o.Open = func(ctx context.Context, name, path, scratch string) (source.Source, error) {
			src, _, err := openSource(ctx, c, name, path, nil, scratch, p, log, nil) // uploads have one owner
			if err != nil {
				return nil, err
			}
			if err := probeReadOnly(ctx, name, src); err != nil {
				return nil, errors.Join(err, src.Close())
			}
			return src, nil
		}
	}
	return catalog.New(o)
}

// find returns a principal's source and its schema.
func (d data) find(ctx context.Context, p footnote.Principal, name string) (source.Source, source.Schema, error) {
	src, err := d.catalog.Find(p, name)
	if err != nil {
		return nil, source.Schema{}, err
	}
	s, err := src.Schema(ctx)
	if err != nil {
		err = unavailable(err)
	}
	return src, s, err
}

// personal converts the error of a statement for a person. A model gets the same error as the result of a tool.
func personal(err error) error {
	if bad, ok := errors.AsType[*source.Error](err); ok {
		begin := map[string]string{
			source.Refused: "The statement was refused: ",
			source.Limited: "The statement reached a limit: ",
		}[bad.Kind]
		if begin == "" {
			begin = "The statement failed: "
		}
		return &footnote.Error{Code: footnote.InvalidRequest, Message: begin + bad.Reason, Err: err}
	}
	return err
}

// listTime limits how long a source may take to list its tables.
const listTime = 10 * time.Second

// List implements httpapi.Data. It does not open uploads, and a source that does not respond does not delay the
// others.
func (d data) List(ctx context.Context, p footnote.Principal) ([]httpapi.SourceInfo, error) {
	ctx = footnote.WithPrincipal(ctx, p)
	entries := d.catalog.List(p)
	list := make([]httpapi.SourceInfo, len(entries))
	var group errgroup.Group
	group.SetLimit(8)
	for i, e := range entries {
		if e.Uploaded {
			list[i] = d.uploaded(e)
			continue
		}
		group.Go(func() error {
			limited, cancel := context.WithTimeout(ctx, listTime)
			defer cancel()
			src, s, err := d.find(limited, p, e.Name)
			if src == nil {
				return err
			}
			if err != nil && limited.Err() != nil {
				err = footnote.Errorf(footnote.DatabaseUnavailable, "The source is unavailable.")
			}
			list[i] = d.describe(e.Name, src, s, err)
			return nil
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return list, err
}

func (d data) uploaded(e catalog.Entry) httpapi.SourceInfo {
	info := httpapi.SourceInfo{
		Name: e.Name, Engine: e.Engine, Tables: e.Tables, OK: true, Uploaded: true,
		Proof: httpapi.SourceProof(d.children.databases.ProofOf(e.Engine)),
	}
	if e.Rows >= 0 {
		info.Rows = &e.Rows
	}
	if !e.Changed.IsZero() {
		info.Changed = &e.Changed
	}
	return info
}

// Add implements httpapi.Data.
func (d data) Add(ctx context.Context, p footnote.Principal, filename string,
	content io.Reader) (httpapi.SourceInfo, error) {
	e, err := d.catalog.Add(ctx, p, filename, content)
	return d.uploaded(e), err
}

// Replace implements httpapi.Data.
func (d data) Replace(ctx context.Context, p footnote.Principal, name, filename string,
	content io.Reader) (httpapi.SourceInfo, error) {
	e, err := d.catalog.Replace(ctx, p, name, filename, content)
	return d.uploaded(e), err
}

// Append implements httpapi.Data.
func (d data) Append(ctx context.Context, p footnote.Principal, name, filename string,
	content io.Reader) (httpapi.SourceInfo, error) {
	e, err := d.catalog.Append(ctx, p, name, filename, content)
	return d.uploaded(e), err
}

// Changed implements httpapi.Data.
func (d data) Changed(p footnote.Principal, name string) time.Time { return d.catalog.Changed(p, name) }

// Remove implements httpapi.Data.
func (d data) Remove(_ context.Context, p footnote.Principal, name string) error {
	return d.catalog.Remove(p, name)
}

// Uploads implements httpapi.Data.
func (d data) Uploads() (maxBytes int64, ok bool) { return d.catalog.Uploads() }

// describe returns the list entry of a source; for an unavailable source it includes the reason.
func (d data) describe(name string, src source.Source, s source.Schema, err error) httpapi.SourceInfo {
	info := httpapi.SourceInfo{
		Name: name, Engine: src.Dialect().Name, Tables: len(s.Tables), OK: err == nil,
		Proof: httpapi.SourceProof(d.children.databases.Proof(src)),
	}
	if err != nil {
		info.Error = footnote.MessageOf(err)
		return info
	}
	rows := int64(0)
	for _, t := range s.Tables {
		if t.View {
			continue
		}
		if t.Rows < 0 {
			return info
		}
		rows += t.Rows
	}
	info.Rows = &rows
	return info
}

// Schema implements httpapi.Data.
func (d data) Schema(ctx context.Context, p footnote.Principal, name string) (httpapi.SourceSchema, error) {
	ctx = footnote.WithPrincipal(ctx, p)
	src, s, err := d.find(ctx, p, name)
	if err != nil {
		return httpapi.SourceSchema{}, err
	}
	dialect := src.Dialect()
	out := httpapi.SourceSchema{
		Name: name, Engine: dialect.Name, EditorDialect: dialect.Editor, Tables: []httpapi.SourceTable{},
	}
	for _, t := range s.Tables {
		table := httpapi.SourceTable{
			Name: t.FullName(), View: t.View, Comment: t.Comment, Columns: []httpapi.SourceColumn{},
		}
		if t.Rows >= 0 {
			table.Rows = new(t.Rows)
		}
		for _, c := range t.Columns {
			table.Columns = append(table.Columns, httpapi.SourceColumn{
				Name: c.Name, Type: c.Type, Kind: c.Kind, Nullable: c.Nullable, Comment: c.Comment,
				Key: slices.Contains(t.PrimaryKey, c.Name), References: reference(t, c.Name),
			})
		}
		out.Tables = append(out.Tables, table)
	}
	return out, nil
}

// reference returns the target of a column's foreign key, or nil.
func reference(t source.Table, column string) *httpapi.Reference {
	for _, k := range t.ForeignKeys {
		i := slices.Index(k.Columns, column)
		if i < 0 {
			continue
		}
		ref := &httpapi.Reference{Table: k.RefTable}
		if i < len(k.RefColumns) {
			ref.Column = k.RefColumns[i]
		}
		return ref
	}
	return nil
}

// table returns a table of the principal's source.
func (d data) table(ctx context.Context, p footnote.Principal,
	name, table string) (source.Source, source.Table, error) {
	src, s, err := d.find(ctx, p, name)
	if err != nil {
		return nil, source.Table{}, err
	}
	t, ok := s.Table(table)
	if !ok {
		return nil, t, footnote.Errorf(footnote.NotFound, "The source has no such table.")
	}
	return src, t, nil
}

// Samples implements httpapi.Data.
func (d data) Samples(ctx context.Context, p footnote.Principal, name, table string,
	limit int) (footnote.Result, error) {
	ctx = footnote.WithPrincipal(ctx, p)
	src, t, err := d.table(ctx, p, name, table)
	if err != nil {
		return footnote.Result{}, err
	}
	res, err := profile.Sample(ctx, src, t, limit)
	return res, personal(err)
}

// Distribution implements httpapi.Data.
func (d data) Distribution(ctx context.Context, p footnote.Principal, name, table, column string,
	limit int) (httpapi.Distribution, error) {
	ctx = footnote.WithPrincipal(ctx, p)
	src, t, err := d.table(ctx, p, name, table)
	if err != nil {
		return httpapi.Distribution{}, err
	}
	c, ok := t.Column(column)
	if !ok {
		return httpapi.Distribution{}, footnote.Errorf(footnote.NotFound, "The table has no such column.")
	}
	stats, values, err := profile.Look(ctx, src, t, c, limit)
	if err != nil {
		return httpapi.Distribution{}, personal(err)
	}
	out := httpapi.Distribution{
		Column: c.Name, Type: c.Type, Rows: wholeNumber(stats["rows"]), Nulls: wholeNumber(stats["nulls"]),
		Min: cell(stats["min"]), Max: cell(stats["max"]), Avg: cell(stats["mean"]),
	}
	if n, ok := stats["distinct"]; ok {
		out.Distinct = new(wholeNumber(n))
	}
	for _, row := range values.Rows {
		out.Values = append(out.Values, valueOf(values.Columns, row))
	}
	return out, nil
}

// valueOf converts one row of a distribution.
func valueOf(columns []footnote.Column, row []any) (v httpapi.DistributionValue) {
	for i, c := range columns {
		switch c.Name {
		case "value", "month", "year":
			v.Value = footnote.AppendCell(nil, row[i])
		case "from":
			v.From = cell(row[i])
		case "to":
			v.To = cell(row[i])
		case "count":
			v.Count = wholeNumber(row[i])
		}
	}
	return v
}

// cell returns the JSON of a value, or nil if there is none.
func cell(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	return footnote.AppendCell(nil, v)
}

func wholeNumber(v any) int64 {
	n, _ := v.(int64)
	return n
}

// Query implements httpapi.Data.
func (d data) Query(ctx context.Context, p footnote.Principal,
	name, sql string, checked *protocol.Checked) (footnote.Result, time.Duration, error) {
	ctx = footnote.WithPrincipal(ctx, p)
	src, _, err := d.find(ctx, p, name)
	if err != nil {
		return footnote.Result{}, 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.ToolTimeout, errQueryTime)
	defer cancel()
	q := source.Query{SQL: sql}
	if checked != nil {
		q = source.Query{SQL: checked.SQL, Args: checked.Args, Own: true}
	}
	res, sum, err := query.Run(ctx, src, q)
	if err != nil && errors.Is(context.Cause(ctx), errQueryTime) {
		err = &source.Error{Kind: source.Limited, Reason: fmt.Sprintf("It took longer than %s.", d.cfg.ToolTimeout)}
	}
	return res, sum.Elapsed, personal(err)
}

// Export implements httpapi.Data.
func (d data) Export(ctx context.Context, p footnote.Principal, name, sql string,
	each func(row []any) error) (columns []footnote.Column, note string, err error) {
	ctx = footnote.WithPrincipal(ctx, p)
	src, err := d.catalog.Find(p, name)
	if err != nil {
		return nil, "", err
	}
	limits := source.Limits{Time: d.cfg.Limits.ExportTime, Rows: d.cfg.Limits.ExportRows, Bytes: math.MaxInt64}
	sum, err := source.Stream(footnote.WithSource(ctx, name), src, source.Query{
		SQL: sql, Limits: limits, Export: true,
	}, each)
	if sum.Truncated {
		note = fmt.Sprintf("The statement has more rows than the %d that one file may have.", sum.Rows)
	}
	return sum.Columns, note, personal(err)
}

var errQueryTime = errors.New("the statement timed out")

// Suggest implements httpapi.Data. Without a name it covers all sources of the principal that can be read now, and
// skips the others.
func (d data) Suggest(ctx context.Context, p footnote.Principal, name string, n int) ([]string, error) {
	ctx = footnote.WithPrincipal(ctx, p)
	if name != "" {
		if _, _, err := d.find(ctx, p, name); err != nil {
			return nil, err
		}
		return d.withVerified(p, []string{name}, n)(d.planner.Suggest(ctx, name, n))
	}
	names, err := d.catalog.Choose(p, nil)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return d.withVerified(p, names, n)(d.planner.SuggestAmong(ctx, names, n))
}

// withVerified returns a function that puts verified questions before other suggestions. They fill at most half of the
// n places.
func (d data) withVerified(p footnote.Principal, sources []string, n int) func([]string, error) ([]string, error) {
	return func(others []string, err error) ([]string, error) {
		if err != nil {
			return others, err
		}
		list := d.verifiedQueries().Questions(verified.Caller{Roles: p.Roles, Sources: sources, Now: time.Now()}, n/2)
		for _, q := range others {
			if len(list) < n && !slices.Contains(list, q) {
				list = append(list, q)
			}
		}
		return list, nil
	}
}
