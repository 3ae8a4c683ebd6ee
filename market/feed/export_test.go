package feed

// Moved has a token after something changed that Price says.
func (f *Feed) Moved() <-chan struct{} { return f.moved }
