package tidy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Error is the reason why a file cannot be read as a table. Its text is meant for users and contains no path.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

func errorf(format string, args ...any) error { return &Error{Reason: fmt.Sprintf(format, args...)} }

// The names of encodings in notes.
const (
	utf8Name   = "UTF-8"
	repaired   = "UTF-8 with invalid bytes replaced"
	latinName  = "Windows-1252"
	utf16LE    = "UTF-16"
	utf16BE    = "UTF-16 (big-endian)"
	sampleSize = 256 << 10
)

// encodings maps the names of encodings to those that must be decoded.
var encodings = map[string]encoding.Encoding{
	latinName: charmap.Windows1252,
	utf16LE:   unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	utf16BE:   unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	repaired:  unicode.UTF8, // its decoder replaces invalid bytes
}

// openText opens a file as UTF-8 without a byte order mark.
func openText(path, enc string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var r io.Reader = f
	if from, foreign := encodings[enc]; foreign {
		r = transform.NewReader(bufio.NewReaderSize(f, 64<<10), from.NewDecoder())
	}
	b := bufio.NewReaderSize(r, 64<<10)
	if head, _ := b.Peek(3); bytes.Equal(head, []byte("\xEF\xBB\xBF")) {
		b.Discard(3)
	}
	return textFile{b, f}, nil
}

type textFile struct {
	io.Reader
	io.Closer
}

// detectEncoding reads the whole file: the only byte that is not UTF-8 may be in its last line.
func detectEncoding(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, sampleSize)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", err
	}
	head := buf[:n]
	if name, err := foreign(head); name != "" || err != nil {
		return name, err
	}
	var count utf8Count
	for {
		rest := count.add(buf[:n])
		k, err := f.Read(buf[copy(buf, rest):])
		n = len(rest) + k
		if err == io.EOF {
			count.bad += int64(len(rest))
			return count.encoding(), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// foreign recognises files that are not text, and Unicode encodings other than UTF-8.
func foreign(head []byte) (string, error) {
	for magic, what := range map[string]string{
		"PK\x03\x04": "a ZIP archive or an Excel workbook", "PAR1": "a Parquet file",
		"\x1f\x8b": "compressed with gzip; unpack it first",
		"%PDF":     "a PDF document", "\xD0\xCF\x11\xE0": "an old binary Excel or Word file; save it as .xlsx or .csv",
		"SQLite format 3\x00": "an SQLite database",
		"\x28\xB5\x2F\xFD":    "compressed with zstd; unpack it first", "\x89PNG": "an image",
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return "", errorf("The file is not text: it is %s.", what)
		}
	}
	if bytes.HasPrefix(head, []byte("\xFF\xFE")) {
		return utf16LE, nil
	}
	if bytes.HasPrefix(head, []byte("\xFE\xFF")) {
		return utf16BE, nil
	}
	even, odd, control := unprintable(head)
	half := len(head) / 2
	switch {
	case half > 1 && odd > half/2 && even <= half/50:
		return utf16LE, nil
	case half > 1 && even > half/2 && odd <= half/50:
		return utf16BE, nil
	case (even+odd+control)*20 > len(head):
		return "", errorf("The file is not text: it is full of control characters.")
	}
	return "", nil
}

// unprintable counts zeros at even and at odd places, and control characters that text does not have.
func unprintable(head []byte) (even, odd, control int) {
	for i, c := range head {
		switch {
		case c == 0 && i%2 == 0:
			even++
		case c == 0:
			odd++
		case c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1A:
			control++
		}
	}
	return even, odd, control
}

// utf8Count counts multi-byte sequences and bytes that are not UTF-8.
type utf8Count struct{ good, bad int64 }

// add counts b and returns the incomplete sequence at its end.
func (u *utf8Count) add(b []byte) (rest []byte) {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		if !utf8.FullRune(b[i:]) {
			return b[i:]
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			u.bad++
		} else {
			u.good++
		}
		i += size
	}
	return nil
}

func (u *utf8Count) encoding() string {
	switch {
	case u.bad == 0:
		return utf8Name
	case u.good > 10*u.bad:
		return repaired // a few broken bytes in a file that is otherwise UTF-8
	default:
		return latinName
	}
}
