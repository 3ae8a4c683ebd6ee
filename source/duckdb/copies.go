//go:build cgo && !noduckdb

package duckdb

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/duckdb/tidy"
)

// OpenCopies opens files that list copies from elsewhere, into a folder that it keeps. Place names where they come
// from, without passwords. List is called before each query, so it must remember its last answer for a while.
func OpenCopies(ctx context.Context, name, place string, list ListFunc, o Options) (source.Source, error) {
	o = withDefaults(o)
	rules, err := rowfilter.Parse(o.Filters)
	if err != nil {
		return nil, footnote.Invalidf("filters.%s: %v", name, err)
	}
	s := &Source{name: name, path: place, opts: o, rules: rules, list: list, copies: true}
	return s.opened(ctx)
}

// Version implements source.Source. It also fetches copies that are due.
func (s *Source) Version(ctx context.Context) (string, error) {
	if s.copies {
		if _, err := s.list(ctx); err != nil {
			return "", err
		}
	}
	return s.Client.Version(ctx)
}

// Format returns the format that a file's name promises, or "" for a file that cannot be loaded.
func Format(name string) string { return formats[strings.ToLower(filepath.Ext(name))] }

// TableName derives a table's name from another name: lower case, and never in need of quotes.
func TableName(name string) string { return tableName(name) }

// Footers reads the footers of Parquet files of which nothing else need be there, in a confined process. It calls each
// with the number of rows of every file, and with every part of a file that holds values of one of the columns.
func Footers(ctx context.Context, paths, columns []string, o Options, each func(Chunk) error) error {
	plan := loadPlan{Files: []File{{Parts: paths, Columns: columns, Format: "parquet", Shown: "A Parquet object"}}}
	read := append(slices.Clone(system), paths...)
	return runLoader(ctx, "footers", plan, read, nil, withDefaults(o), func(row []any) error {
		c := Chunk{}
		for i, to := range []any{&c.File, &c.Rows, &c.Offset, &c.Size} {
			switch to := to.(type) {
			case *string:
				*to, _ = row[i].(string)
			case *int64:
				*to, _ = row[i].(int64)
			}
		}
		return each(c)
	})
}

var footerColumns = []footnote.Column{
	{Name: "file", Kind: footnote.KindText}, {Name: "rows", Kind: footnote.KindInteger},
	{Name: "offset", Kind: footnote.KindInteger}, {Name: "size", Kind: footnote.KindInteger},
}

// footers answers the statement "footers".
func (l *loader) footers(ctx context.Context) error {
	f := l.plan.Files[0]
	query := "SELECT file_name, num_rows, 0, 0 FROM parquet_file_metadata(" + f.list() + ")"
	if len(f.Columns) > 0 {
		query += " UNION ALL SELECT file_name, 0, CASE WHEN dictionary_page_offset > 0 THEN least(data_page_offset, " +
			"dictionary_page_offset) ELSE data_page_offset END, total_compressed_size FROM parquet_metadata(" +
			f.list() + ") WHERE " + wanted(f.Columns)
	}
	rows, err := l.db.QueryContext(ctx, query)
	if err != nil {
		return loadError(f, err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Chunk
		if err := rows.Scan(&c.File, &c.Rows, &c.Offset, &c.Size); err != nil {
			return fmt.Errorf("read a footer: %w", err)
		}
		if err := l.each([]any{c.File, c.Rows, c.Offset, c.Size}); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list returns the parts as a list in SQL.
func (f File) list() string {
	list := make([]string, len(f.Parts))
	for i, path := range f.Parts {
		list[i] = literal(path)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// wanted is the condition that a column of parquet_metadata is one of the given ones, or inside one.
func wanted(columns []string) string {
	var any []string
	for _, c := range columns {
		any = append(any, fmt.Sprintf("lower(path_in_schema) = %s OR starts_with(lower(path_in_schema), %s)",
			literal(strings.ToLower(c)), literal(strings.ToLower(c)+", ")))
	}
	return strings.Join(any, " OR ")
}

// loadParts loads one table from several Parquet files. Some may lack columns that others have, because tables grow
// columns; but files that share none are different tables.
func (l *loader) loadParts(ctx context.Context, f File) error {
	var shared int
	if err := l.db.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*) FROM (SELECT name FROM parquet_schema(%s) "+
		"WHERE coalesce(num_children, 0) = 0 GROUP BY name HAVING count(DISTINCT file_name) = %d)", f.list(),
		len(f.Parts))).Scan(&shared); err != nil {
		return err
	}
	if shared == 0 {
		return &tidy.Error{Reason: "These files have no column in common, so they are no parts of one table. Name " +
			"their folder instead of a pattern, to make each a table."}
	}
	columns := "*"
	if len(f.Columns) > 0 {
		var err error
		if columns, err = l.columnsOf(ctx, f); err != nil {
			return err
		}
	}
	name := l.unique(f.Table)
	if err := l.exec(ctx, fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM read_parquet(%s, union_by_name = true, "+
		"hive_partitioning = %t)", quote(name), columns, f.list(), f.Hive)); err != nil {
		return err
	}
	comment := "read from Parquet"
	if len(f.Parts) > 1 {
		comment = fmt.Sprintf("read from %d Parquet files", len(f.Parts))
	}
	return l.finish(ctx, name, comment)
}

// columnsOf returns the columns of a table that are wanted. The columns of the path are always.
func (l *loader) columnsOf(ctx context.Context, f File) (string, error) {
	var found []string
	err := eachRow(ctx, l.db, fmt.Sprintf("SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(%s, "+
		"union_by_name = true, hive_partitioning = %t))", f.list(), f.Hive), func(row []string) error {
		inPath := f.Hive && strings.Contains(f.Parts[0], string(filepath.Separator)+row[0]+"=")
		if inPath || slices.ContainsFunc(f.Columns, func(c string) bool { return strings.EqualFold(c, row[0]) }) {
			found = append(found, quote(row[0]))
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = &tidy.Error{Reason: "It has none of the columns " + strings.Join(f.Columns, ", ") + "."}
	}
	return strings.Join(found, ", "), err
}
