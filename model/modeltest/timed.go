package modeltest

import (
	"bytes"
	"fmt"
)

// AppendTimed appends a timed piece: a number of six digits, a colon, a time in nanoseconds, a space. Digits
// are written as letters, 0 as a to 9 as j, because a server under test may analyse the numbers in the text,
// and these must not count.
func AppendTimed(dst []byte, number int, at int64) []byte {
	begun := len(dst)
	dst = fmt.Appendf(dst, "%06d:%d", number, at)
	for i, c := range dst[begun:] {
		if c >= '0' && c <= '9' {
			dst[begun+i] = c - '0' + 'a'
		}
	}
	return append(dst, ' ')
}

// NextTimed finds the first timed piece in b, and where it ends; end is 0 if there is no complete one.
func NextTimed(b []byte) (number int, at int64, end int) {
	for from := 0; ; {
		colon := bytes.IndexByte(b[from:], ':')
		if colon < 0 {
			return 0, 0, 0
		}
		colon += from
		from = colon + 1
		n, ok := letters(b[max(0, colon-6):colon], 6)
		if !ok {
			continue
		}
		space := bytes.IndexByte(b[from:], ' ')
		if space < 0 {
			return 0, 0, 0
		}
		if t, ok := letters(b[from:from+space], 1); ok {
			return int(n), t, from + space + 1
		}
	}
}

// letters reads a number written in at least minLen letters.
func letters(b []byte, minLen int) (n int64, ok bool) {
	if len(b) < minLen || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < 'a' || c > 'j' {
			return 0, false
		}
		n = n*10 + int64(c-'a')
	}
	return n, true
}
