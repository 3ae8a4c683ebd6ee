// Package s3 implements a source over the objects of an S3-compatible store: Parquet, CSV, JSON and Excel files.
//
// The objects are copied to a folder of this machine and loaded from there, as package duckdb does with files. This
// process only sends signed GET requests, follows no redirects, and gives neither the key nor the network to the
// process that reads the objects. The store is listed again before a query if the last listing is old; objects are
// known by their ETag, so that only changed ones are fetched. Of Parquet objects, the footers are fetched first: they
// tell, in a confined process, how many rows there are and where the wanted columns lie, and only those are fetched.
package s3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/engines"
)

// Engine returns object stores for the program's list of engines. DuckDB answers their queries.
func Engine() engines.Engine {
	e := duckdb.Engine()
	e.Schemes, e.Sniff, e.Hosts, e.Open = []string{scheme}, nil, Hosts, Open
	return e
}

// Open copies the objects at an address and opens them. Errors are *footnote.Errors, refer to the source by name, and
// have no key in them.
func Open(ctx context.Context, name, text string, o engines.Options) (source.Source, error) {
	a, err := parseAddress(text)
	if err != nil {
		return nil, footnote.Invalidf("source %s: the address is not one of an object store: %v.", name, err)
	}
	if !duckdb.Available { // says why
		return duckdb.OpenCopies(ctx, name, "", nil, o)
	}
	if o.Dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, source.Named(name, err)
		}
		o.Dir = filepath.Join(base, "footnote", "files")
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, source.Named(name, err)
	}
	if strings.ContainsAny(o.Dir, `*?[\`) {
		return nil, footnote.Errorf(footnote.StorageUnavailable, "source %s: the path of the data folder must not "+
			`hold any of the characters * ? [ and \.`, name)
	}
	sum := sha256.Sum256([]byte(a.place()))
	c := &copier{client: newClient(a), dir: filepath.Join(o.Dir, "objects-"+hex.EncodeToString(sum[:10])), opts: o}
	return duckdb.OpenCopies(ctx, name, a.place(), c.list, o)
}
