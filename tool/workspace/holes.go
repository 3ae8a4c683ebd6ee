package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/sparse"
)

// A sparse file can seem to have any size without using disk space. Reading its holes would take as long as reading
// that size, so files with holes are identified by their data and its position.

const (
	maxHole  = 64 << 10 // bytes; smaller files are always read in full
	pageSize = 4 << 10
)

// digestOfData returns a digest of a file without reading its holes. It covers the size and the non-empty pages
// with their numbers, so it does not depend on whether the file system stores a hole or zeros.
func digestOfData(f *os.File, size int64) (footnote.Digest, error) {
	sum := sha256.New()
	sum.Write([]byte("footnote: a file with holes\x00"))
	number := func(n int64) { fmt.Fprintf(sum, "%d\n", n) }
	number(size)
	var page, empty [pageSize]byte
	next := int64(0) // the first page not yet examined
	err := sparse.EachData(f, size, func(off, end int64) error {
		for p := max(off/pageSize, next); p*pageSize < end; p++ {
			n, err := f.ReadAt(page[:min(pageSize, size-p*pageSize)], p*pageSize)
			if err != nil && err != io.EOF {
				return err
			}
			if next = p + 1; !bytes.Equal(page[:n], empty[:n]) {
				number(p)
				sum.Write(page[:n])
			}
		}
		return nil
	})
	return digestText(sum), err
}

// digestText returns a digest in the form used in the log.
func digestText(sum hash.Hash) footnote.Digest { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }
