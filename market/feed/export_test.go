package feed

import "bufio"

// Moved returns a channel that holds a token after a change to what Price returns.
func (f *Feed) Moved() <-chan struct{} { return f.moved }

// SplitLines returns the line splitter for server-sent events.
func SplitLines() bufio.SplitFunc { return splitLines() }
