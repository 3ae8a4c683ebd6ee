package workspace

import (
	"github.com/footnotehq/footnote/tool"
)

// Occupy keeps a workspace busy until release is called.
func Occupy(w *Workspaces, conversation string) (release func()) {
	s := w.space(tool.Call{Conversation: conversation})
	s.busy <- struct{}{}
	return func() {
		<-s.busy
		w.release(s)
	}
}
