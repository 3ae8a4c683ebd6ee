package feed

import "bufio"

// SplitLines returns the line splitter for server-sent events.
func SplitLines() bufio.SplitFunc { return splitLines() }
