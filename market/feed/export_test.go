package feed

import "bufio"

// Moved has a token after something changed that Price says.
func (f *Feed) Moved() <-chan struct{} { return f.moved }

// SplitLines is how lines of server-sent events are told apart.
func SplitLines() bufio.SplitFunc { return splitLines() }
