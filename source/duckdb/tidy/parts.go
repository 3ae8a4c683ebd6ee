package tidy

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"
)

// A workbook is a zip archive: a small file may unpack to gigabytes, or to millions of texts that no cell shows.
// One pass that keeps nothing estimates the cost of reading it in advance. The limits grow with the file: real
// workbooks unpack to about ten times their size and have two tags and attributes per byte.
const (
	maxParts     = 10_000
	maxSheets    = 500
	unpackBase   = 32 << 20 // bytes
	unpackFactor = 100      // bytes per byte of the file
	tagBase      = 4 << 20  // tags and attributes
	tagFactor    = 16       // per byte of the file
	maxStyles    = 16 << 20 // bytes of the part that holds the formats
	maxFormat    = 1000     // characters of one format; Excel allows 255
)

var (
	errUnpacks = errorf("The workbook is too large when unpacked. Save its sheets as CSV.")
	errNotZip  = errorf("The file is not a readable Excel workbook (.xlsx).")
)

// unpacked returns how many bytes a file of the given size may unpack to.
func unpacked(size int64, limits Limits) int64 {
	return min(unpackBase+unpackFactor*size, 2*limits.Bytes)
}

// inspect returns an error if a workbook would cost too much to read.
func inspect(ctx context.Context, file string, size int64, limits Limits) error {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil // it may have a password; the reader reports that
	}
	defer z.Close()
	if len(z.File) > maxParts {
		return errorf("The workbook has %d parts; the limit is %d.", len(z.File), maxParts)
	}
	seen := map[string]*zip.File{}
	total := uint64(0)
	for _, f := range z.File {
		name := strings.ToLower(strings.ReplaceAll(f.Name, `\`, "/"))
		if seen[name] != nil {
			return errorf("The workbook has two parts named %.80q.", name)
		}
		seen[name] = f
		// The reader fails on a part that unpacks to more than it declares.
		if total += f.UncompressedSize64; f.UncompressedSize64 > uint64(unpacked(size, limits)) ||
			total > uint64(unpacked(size, limits)) {
			return errUnpacks
		}
	}
	tags := int64(tagBase + tagFactor*size)
	for name, f := range seen {
		if ext := path.Ext(name); ext != ".xml" && ext != ".rels" {
			continue
		}
		n, err := countTags(ctx, f)
		if err != nil {
			return err
		}
		if tags -= n; tags < 0 {
			return errUnpacks
		}
	}
	if err := checkFormats(seen["xl/styles.xml"]); err != nil {
		return err
	}
	return checkSheets(seen)
}

// countTags counts the start tags and attributes in a part.
func countTags(ctx context.Context, f *zip.File) (n int64, err error) {
	r, err := f.Open()
	if err != nil {
		return 0, errNotZip
	}
	defer r.Close()
	buf := make([]byte, 256<<10)
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		k, err := r.Read(buf)
		n += int64(bytes.Count(buf[:k], []byte("<")) + bytes.Count(buf[:k], []byte("=")))
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return 0, errNotZip
		}
	}
}

// checkFormats refuses formats that no spreadsheet program writes: each is parsed again for every cell that uses
// it.
func checkFormats(f *zip.File) error {
	if f == nil {
		return nil
	}
	if f.UncompressedSize64 > maxStyles {
		return errorf("The workbook has %d MB of formats; the limit is %d MB. Save its sheets as CSV.",
			f.UncompressedSize64>>20, maxStyles>>20)
	}
	r, err := f.Open()
	if err != nil {
		return errNotZip
	}
	defer r.Close()
	d := xml.NewDecoder(r)
	d.Strict = false
	for {
		token, err := d.RawToken()
		if err != nil {
			return nil // the reader reports what it cannot read
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "numFmt" {
			continue
		}
		for _, a := range start.Attr {
			if a.Name.Local == "formatCode" && len(a.Value) > maxFormat {
				return errorf("The workbook has a format of %d characters; the limit is %d.", len(a.Value), maxFormat)
			}
		}
	}
}

// relations lists the parts that a part refers to, by ID.
type relations struct {
	List []struct {
		ID     string `xml:"Id,attr"`
		Type   string `xml:"Type,attr"`
		Target string `xml:"Target,attr"`
	} `xml:"Relationship"`
}

// checkSheets refuses workbooks that show one part as several sheets: it would be read once for each of them.
func checkSheets(parts map[string]*zip.File) error {
	var root, of relations
	if !decodePart(parts["_rels/.rels"], &root) {
		return nil // the reader reports that there are no sheets
	}
	for _, r := range root.List {
		if !strings.HasSuffix(r.Type, "/officeDocument") {
			continue
		}
		book := strings.ToLower(strings.TrimPrefix(r.Target, "/"))
		var workbook struct {
			Sheets []struct {
				ID string `xml:"id,attr"`
			} `xml:"sheets>sheet"`
		}
		if !decodePart(parts[book], &workbook) ||
			!decodePart(parts[path.Join(path.Dir(book), "_rels", path.Base(book)+".rels")], &of) {
			continue
		}
		if len(workbook.Sheets) > maxSheets {
			return errorf("The workbook has %d sheets; the limit is %d.", len(workbook.Sheets), maxSheets)
		}
		targets, shown := map[string]string{}, map[string]bool{}
		for _, r := range of.List {
			target := r.Target
			if !strings.HasPrefix(target, "/") {
				target = path.Join("/", path.Dir(book), target)
			}
			targets[r.ID] = strings.ToLower(path.Clean(target))
		}
		for _, s := range workbook.Sheets {
			if target := targets[s.ID]; target != "" && shown[target] {
				return errorf("The workbook shows one of its parts as several sheets.")
			}
			shown[targets[s.ID]] = true
		}
	}
	return nil
}

// decodePart decodes a small part of a workbook and reports whether it could.
func decodePart(f *zip.File, into any) bool {
	const maxBytes = 16 << 20
	if f == nil || f.UncompressedSize64 > maxBytes {
		return false
	}
	r, err := f.Open()
	if err != nil {
		return false
	}
	defer r.Close()
	return xml.NewDecoder(r).Decode(into) == nil
}

// bounded is a file that accepts a limited number of bytes.
type bounded struct {
	w    io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errUnpacks
	}
	return b.w.Write(p)
}
