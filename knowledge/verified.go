package knowledge

import (
	"errors"
	"maps"
	"path"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge/verified"
)

// isVerified reports whether the file at a path is a verified query.
func isVerified(name string) bool {
	return path.Dir(name) == verified.Folder && path.Ext(name) == ".sql"
}

// readVerified returns the verified queries among the files of a context.
func readVerified(files map[string][]byte, faults *Faults) *verified.Set {
	var queries []*verified.Query
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !isVerified(name) {
			continue
		}
		q, err := verified.Parse(name, string(files[name]))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		queries = append(queries, q)
	}
	set, err := verified.New(queries)
	addFaults(errors.Join(append(errs, err)...), faults)
	return set
}

// addFaults appends the faults that an error joins.
func addFaults(err error, faults *Faults) {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range list.Unwrap() {
			addFaults(e, faults)
		}
		return
	}
	if f, ok := errors.AsType[*verified.Fault](err); ok {
		faults.add(f.File, f.Line, "%s", f.Text)
	}
}

// FileDigests returns the digest of each file, by its path within the folder.
func (c *Context) FileDigests() map[string]footnote.Digest {
	digests := make(map[string]footnote.Digest, len(c.files))
	for name, data := range c.files {
		digests[name] = footnote.DigestOf(data)
	}
	return digests
}
