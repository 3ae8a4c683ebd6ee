// Package unescaped finds the part of a text that needs no escapes in a JSON string.
package unescaped

// Prefix returns how many bytes at the start of s are ASCII and need no escape in a JSON string. Long texts
// are scanned several times on their way, so this reads eight bytes at a time.
func Prefix[T string | []byte](s T) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		x := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		// A byte that is too large, too small, a quote or a backslash sets its high bit; the lowest such bit
		// is exact.
		if (x|(x-ones*' ')|((x^ones*'"')-ones)|((x^ones*'\\')-ones))&high != 0 {
			break
		}
	}
	for i < len(s) && itself[s[i]] {
		i++
	}
	return i
}

// itself marks the bytes that need no escape.
var itself = func() (a [256]bool) {
	for c := ' '; c < 0x80; c++ {
		a[c] = c != '"' && c != '\\'
	}
	return a
}()
