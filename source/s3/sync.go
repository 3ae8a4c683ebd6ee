package s3

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/engines"
)

const (
	maxListed  = 100_000 // objects of a listing
	maxObjects = 2000    // objects that are copied
	maxFooter  = 32 << 20
	maxRows    = 50_000_000 // of all Parquet objects together
	firstTail  = 64 << 10   // bytes at the end of a Parquet object that are fetched first
	atOnce     = 4          // objects that are fetched at once
	smallGap   = 64 << 10   // bytes between two wanted ones that are fetched with them
)

// copier keeps copies of the objects of an address. Several goroutines may call its methods at once.
type copier struct {
	client *client
	dir    string
	opts   engines.Options

	mu     sync.Mutex // held while copying; guards below
	files  []duckdb.File
	listed time.Time // when the store was last asked
}

// item is an object that is wanted, and its copy.
type item struct {
	object
	table, rest string // see address.table
	format      string
	name, path  string // of the copy: its folder, and the file in it
	keys        string // the names of the folders in it that are columns
	part        string // the incomplete copy, while there is no copy
	tail        int64  // bytes at its end that are there already
	want        []span // the others that are wanted
}

// span is a part of an object.
type span struct{ from, size int64 }

// list implements duckdb.ListFunc. It asks the store again when refresh has passed since the last time.
func (c *copier) list(ctx context.Context) ([]duckdb.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.listed.IsZero() && time.Since(c.listed) < c.client.refresh {
		return c.files, nil
	}
	ctx, stop := context.WithTimeoutCause(ctx, max(c.opts.LoadTime, time.Minute),
		unavailable("Copying the objects took too long."))
	defer stop()
	now := time.Now()
	files, err := c.sync(ctx)
	if errors.Is(err, errChanged) {
		files, err = c.sync(ctx) // a writer was faster than the first
	}
	if errors.Is(err, errChanged) {
		return nil, unavailable("The objects change while they are being copied. Try again.")
	}
	if err != nil {
		return nil, err
	}
	c.files, c.listed = files, now
	return files, nil
}

// sync copies what has changed and removes what is not needed any more.
func (c *copier) sync(ctx context.Context) ([]duckdb.File, error) {
	items, err := c.wanted(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, footnote.Wrapf(footnote.StorageUnavailable, err, "The folder for copies cannot be created.")
	}
	temp, err := os.MkdirTemp(c.dir, "part-")
	if err != nil {
		return nil, footnote.Wrapf(footnote.StorageUnavailable, err, "The folder for copies cannot be written.")
	}
	defer os.RemoveAll(temp)
	if err := c.complete(ctx, items, temp); err != nil {
		return nil, err
	}
	c.sweep(items)
	return filesOf(items, c.client.columns), nil
}

// complete makes the copies that are missing, in the folder temp.
func (c *copier) complete(ctx context.Context, items []item, temp string) error {
	var missing, parquet []*item
	for i := range items {
		it := &items[i]
		if _, err := os.Stat(it.path); err == nil {
			continue
		}
		it.part = filepath.Join(temp, it.name)
		it.want = []span{{0, it.Size}}
		if missing = append(missing, it); it.format == "parquet" {
			parquet = append(parquet, it)
		}
	}
	if err := c.each(ctx, parquet, c.fetchTail); err != nil {
		return err
	}
	if err := c.plan(ctx, parquet); err != nil {
		return err
	}
	if err := c.checkSize(missing); err != nil {
		return err
	}
	return c.each(ctx, missing, c.fetch)
}

// wanted lists the objects to copy.
func (c *copier) wanted(ctx context.Context) (items []item, err error) {
	listed := 0
	err = c.client.list(ctx, c.client.literalPrefix(), func(o object) error {
		if listed++; listed > maxListed {
			return unavailable("There are more than %d objects below the source's address; name a smaller part.",
				maxListed)
		}
		table, rest, ok := c.client.table(o.Key)
		it := item{object: o, table: table, rest: rest, format: duckdb.Format(rest)}
		if !ok || it.format == "" || o.Size == 0 || strings.HasPrefix(filepath.Base(rest), ".") {
			return nil
		}
		if len(items) == maxObjects {
			return unavailable("More than %d objects would be copied; name a smaller part in the source's address.",
				maxObjects)
		}
		sum := sha256.Sum256([]byte(strings.Join([]string{
			o.Key, o.ETag, strings.Join(c.client.columns, ","), it.format,
		}, "\n")))
		var folders string
		folders, it.keys = hive(rest)
		it.name = hex.EncodeToString(sum[:16])
		it.path = filepath.Join(c.dir, it.name, folders, "data"+strings.ToLower(filepath.Ext(rest)))
		items = append(items, it)
		return nil
	})
	if err == nil && len(items) == 0 {
		err = unavailable("The bucket %s has no objects %s that can be loaded: Parquet, CSV, JSON and XLSX can.",
			c.client.bucket, c.client.pattern)
	}
	return items, err
}

// each calls f for items, a few at once.
func (c *copier) each(ctx context.Context, items []*item, f func(context.Context, *item) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, it := range items {
		group.Go(func() error { return f(ctx, it) })
	}
	return group.Wait()
}

// fetchTail begins the copy of a Parquet object with its footer. The rest of the file is a hole.
func (c *copier) fetchTail(ctx context.Context, it *item) (err error) {
	if it.Size < 12 {
		return unavailable("The object %s is not a Parquet file.", it.rest)
	}
	file, err := os.OpenFile(it.part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The copy cannot be written.")
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Truncate(it.Size); err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The copy cannot be written.")
	}
	it.tail = min(it.Size, firstTail)
	if err := c.client.fetch(ctx, it.object, it.Size-it.tail, it.tail, file); err != nil {
		return err
	}
	var end [8]byte
	if _, err := file.ReadAt(end[:], it.Size-8); err != nil {
		return err
	}
	footer := int64(binary.LittleEndian.Uint32(end[:])) + 8
	if string(end[4:]) != "PAR1" || footer > min(it.Size, maxFooter) {
		return unavailable("The object %s is not a Parquet file, or its footer is too large.", it.rest)
	}
	if footer <= it.tail {
		return nil
	}
	missing := footer - it.tail
	it.tail = footer
	return c.client.fetch(ctx, it.object, it.Size-footer, missing, file)
}

// plan decides by the footers which parts of Parquet objects are fetched.
func (c *copier) plan(ctx context.Context, items []*item) error {
	if len(items) == 0 {
		return nil
	}
	byPath, paths, rows := map[string]*item{}, []string{}, int64(0)
	for _, it := range items {
		byPath[it.part], paths, it.want = it, append(paths, it.part), nil
	}
	err := duckdb.Footers(ctx, paths, c.client.columns, c.opts, func(chunk duckdb.Chunk) error {
		it := byPath[chunk.File]
		rows += max(chunk.Rows, 0)
		switch {
		case it == nil || chunk.Offset < 0 || chunk.Size < 0 || chunk.Offset > it.Size-chunk.Size:
			return unavailable("The footer of a Parquet object is damaged.")
		case rows > maxRows:
			return unavailable("The Parquet objects have more than %d rows; name fewer in the source's address.",
				maxRows)
		case chunk.Size > 0:
			it.want = append(it.want, span{chunk.Offset, chunk.Size})
		}
		return nil
	})
	for _, it := range items {
		if len(c.client.columns) == 0 {
			it.want = []span{{0, it.Size - it.tail}}
		}
		it.want = joined(it.want, it.Size-it.tail)
	}
	return err
}

// joined sorts spans, joins those with small gaps between them, and cuts off what comes after end.
func joined(spans []span, end int64) (list []span) {
	slices.SortFunc(spans, func(a, b span) int { return int(min(max(a.from-b.from, -1), 1)) })
	for _, s := range spans {
		s.size = min(s.size, end-s.from)
		if s.size <= 0 {
			continue
		}
		if n := len(list); n > 0 && s.from <= list[n-1].from+list[n-1].size+smallGap {
			list[n-1].size = max(list[n-1].size, s.from+s.size-list[n-1].from)
			continue
		}
		list = append(list, s)
	}
	return list
}

// checkSize checks what would be fetched against the limit, which the copies that are there count towards.
func (c *copier) checkSize(missing []*item) error {
	total := int64(0)
	for _, it := range missing {
		total += it.tail
		for _, s := range it.want {
			total += s.size
		}
	}
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(filepath.Base(filepath.Dir(path)), "part-") {
			return nil //nolint:nilerr // another process may remove copies
		}
		if info, err := d.Info(); err == nil {
			total += stored(info)
		}
		return nil
	})
	if total > c.client.maxBytes {
		return unavailable("%d MB of objects would be copied; the limit max_bytes of the source's address is %d MB.",
			total>>20, c.client.maxBytes>>20)
	}
	return err
}

// fetch completes a copy and moves it into place.
func (c *copier) fetch(ctx context.Context, it *item) error {
	file, err := os.OpenFile(it.part, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The copy cannot be written.")
	}
	for _, s := range it.want {
		if err := c.client.fetch(ctx, it.object, s.from, s.size, io.WriterAt(file)); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	err = file.Close()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(it.path), 0o700)
	}
	if err == nil {
		err = os.Rename(it.part, it.path)
	}
	if err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The copy cannot be put into place.")
	}
	return nil
}

// sweep removes copies that no object has any more, and what a killed process has left.
func (c *copier) sweep(items []item) {
	keep := map[string]bool{}
	for _, it := range items {
		keep[it.name] = true
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		copying := err == nil && strings.HasPrefix(e.Name(), "part-") && time.Since(info.ModTime()) < time.Hour
		if err == nil && !keep[e.Name()] && !copying {
			os.RemoveAll(filepath.Join(c.dir, e.Name()))
		}
	}
}

// hiveFolder matches the name of a folder that gives a column its value, such as year=2026.
var hiveFolder = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=[A-Za-z0-9_.:+%-]+$`)

// hive returns the folders of a key that are columns, as a path, and the names of these columns.
func hive(key string) (folders, names string) {
	for part := range strings.SplitSeq(key, "/") {
		if m := hiveFolder.FindStringSubmatch(part); m != nil {
			folders, names = filepath.Join(folders, part), names+m[1]+"\n"
		}
	}
	return folders, names
}

// filesOf returns the tables of items: one for the Parquet objects with a table, and one for each other object.
func filesOf(items []item, columns []string) (files []duckdb.File) {
	shared := map[string]int{} // table → its index in files
	keys := map[string]string{}
	for _, it := range items {
		own := strings.TrimSuffix(it.rest, filepath.Ext(it.rest))
		if it.format != "parquet" {
			files = append(files, duckdb.File{
				Path: it.path, Table: duckdb.TableName(own), Format: it.format, Shown: it.rest,
			})
			continue
		}
		if at, ok := shared[it.table]; ok && it.table != "" {
			files[at].Parts = append(files[at].Parts, it.path)
			files[at].Hive = files[at].Hive && keys[it.table] == it.keys
			continue
		}
		name := it.table
		if name == "" {
			name = own
		} else {
			shared[it.table], keys[it.table] = len(files), it.keys
		}
		files = append(files, duckdb.File{
			Parts: []string{it.path}, Table: duckdb.TableName(name), Format: it.format, Shown: it.rest,
			Columns: columns, Hive: it.keys != "",
		})
	}
	return files
}
