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

// A file can seem to have any size and take nothing of the disk. Reading its holes
// would cost what the disk was spared, so files with holes are known by their data and
// by where it lies.

const (
	mostHole = 64 << 10 // bytes of a file that is read whatever it is made of
	pageSize = 4 << 10
)

// digestOfData is a digest of a file that does not read its holes: of its size, and of
// the pages that are not empty with their numbers. It is the same wherever the file
// system has holes and where it has zeros.
func digestOfData(f *os.File, size int64) (footnote.Digest, error) {
	sum := sha256.New()
	sum.Write([]byte("footnote: a file with holes\x00"))
	number := func(n int64) { fmt.Fprintf(sum, "%d\n", n) }
	number(size)
	var page, empty [pageSize]byte
	next := int64(0) // the page that has not been looked at
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

// digestText is a digest as the log has it.
func digestText(sum hash.Hash) footnote.Digest { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }
