package tidy

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

const (
	maxRecord = 16 << 20
	maxFields = 100_000
	maxQuoted = 256 << 10 // a quote not closed within this distance is text
	// Searching for the end of an unclosed quote is wasted work, and every field may begin one. Once such searches
	// have read wasteBase bytes plus eight times what was read of the file, later ones read only fewQuoted bytes.
	wasteBase = 32 << 20
	fewQuoted = 256
)

var errFields = errorf("A row has more than %d cells. Is the separator right?", maxFields)

var errRecord = errorf("A row is longer than 16 MB. Is the separator right, and is every quote closed?")

// splitter splits separated text into records. It is more lenient than encoding/csv: quotes inside a field are
// text, an unclosed quote is text, and records may have any number of fields.
type splitter struct {
	r     io.Reader
	delim byte // 0: every line is one field
	mac   bool // lines end with a lone CR

	buf        []byte
	start, end int // bounds of the unread part of buf
	eof        bool

	fields [][]byte // of the last record; valid until the next one
	blanks int      // number of blank lines before the last record

	wide bool // the record has more than maxFields

	read            int64 // number of bytes in earlier records
	wasted, pending int64 // bytes searched for the ends of unclosed quotes: in earlier records, in this one
}

func newSplitter(r io.Reader, delim byte, mac bool) *splitter {
	return &splitter{r: r, delim: delim, mac: mac, buf: make([]byte, sampleSize)}
}

// next returns the fields of the next record that is not blank. They are valid until the next call. At the end it
// returns io.EOF.
func (s *splitter) next() ([][]byte, error) {
	s.blanks = 0
	for {
		n, ok := s.parse(s.buf[s.start:s.end])
		if s.wide {
			return nil, errFields
		}
		if !ok {
			if err := s.fill(); err != nil {
				return nil, err
			}
			continue
		}
		if n == 0 {
			return nil, io.EOF
		}
		s.start += n
		s.read += int64(n)
		s.wasted += s.pending
		if !blank(s.fields) {
			return s.fields, nil
		}
		s.blanks++
	}
}

func blank(fields [][]byte) bool { return extent(fields) == 0 }

// fill reads more input after the unread part.
func (s *splitter) fill() error {
	if s.start > 0 {
		s.end = copy(s.buf, s.buf[s.start:s.end])
		s.start = 0
	}
	if s.end == len(s.buf) {
		if len(s.buf) >= maxRecord {
			return errRecord
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	n, err := s.r.Read(s.buf[s.end:])
	s.end += n
	if errors.Is(err, io.EOF) {
		s.eof = true
		return nil
	}
	return err
}

// parse parses one record at the start of b and returns its length. It returns false for ok when it needs more than
// b, and 0 and true at the end.
func (s *splitter) parse(b []byte) (n int, ok bool) {
	s.fields = s.fields[:0]
	s.pending = 0
	if len(b) == 0 {
		return 0, s.eof
	}
	i := 0
	for {
		field, j, ok := s.quoted(b, i)
		if !ok {
			return 0, false
		}
		if j < 0 {
			j = s.scan(b, i)
			if j == len(b) && !s.eof {
				return 0, false
			}
			field = b[i:j]
		}
		if len(s.fields) == maxFields {
			s.wide = true
			return 0, false
		}
		s.fields = append(s.fields, field)
		if j == len(b) {
			return j, true
		}
		if s.delim != 0 && b[j] == s.delim {
			i = j + 1
			continue
		}
		if b[j] == '\r' && j+1 == len(b) && !s.eof {
			return 0, false // an LF may follow
		}
		if b[j] == '\r' && j+1 < len(b) && b[j+1] == '\n' {
			j++
		}
		return j + 1, true
	}
}

// scan returns the end of the unquoted field that begins at i.
func (s *splitter) scan(b []byte, i int) int {
	delim := s.delim
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == delim && delim != 0, c == '\n':
			return i
		case c == '\r':
			if s.mac || i+1 == len(b) || b[i+1] == '\n' {
				return i
			}
		}
	}
	return i
}

// quoted parses the quoted field that begins at i and returns its end j, which is negative when there is no such
// field. It returns false for ok when it needs more text.
func (s *splitter) quoted(b []byte, i int) (field []byte, j int, ok bool) {
	i = len(b) - len(bytes.TrimLeft(b[i:], " "))
	if i == len(b) || b[i] != '"' {
		return nil, -1, i < len(b) || s.eof
	}
	doubled, reach := false, maxQuoted
	if s.wasted+s.pending > wasteBase+8*(s.read+int64(i)) {
		reach = fewQuoted
	}
	for j = i + 1; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 || j+k-i > reach {
			if k < 0 && len(b)-i <= reach && !s.eof {
				return nil, 0, false
			}
			s.pending += int64(min(reach, len(b)-i))
			return nil, -1, true // it is never closed
		}
		j += k
		if j+1 < len(b) && b[j+1] == '"' {
			doubled = true
			j += 2
			continue
		}
		end := len(b) - len(bytes.TrimLeft(b[j+1:], " "))
		if end == len(b) && !s.eof {
			return nil, 0, false
		}
		if end == len(b) || s.endsField(b[end]) {
			field = b[i+1 : j]
			if doubled {
				field = bytes.ReplaceAll(field, []byte(`""`), []byte(`"`))
			}
			return field, end, true
		}
		j++ // a doubled quote
	}
}

func (s *splitter) endsField(c byte) bool {
	return c == '\n' || c == '\r' || s.delim != 0 && c == s.delim
}

// trim removes white space from both ends, including the kinds that spreadsheets use.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] <= ' ') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] <= ' ') {
		b = b[:len(b)-1]
	}
	if len(b) > 0 && (b[0] >= 0x80 || b[len(b)-1] >= 0x80) {
		return bytes.TrimFunc(b, isSpace)
	}
	return b
}

func isSpace(r rune) bool {
	return r <= ' ' || strings.ContainsRune("\u00A0\u2007\u202F\u2009\uFEFF\u200B\u3000", r)
}
