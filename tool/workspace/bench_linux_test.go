package workspace_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/workspace"
)

// BenchmarkBash measures a command that does nothing, in workspaces with various numbers of 2 KB files.
func BenchmarkBash(b *testing.B) {
	for _, files := range []int{0, 1000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			folder := b.TempDir()
			spaces, err := workspace.Open(workspace.Options{
				Folder: folder, Log: sqlitetest.New(b), Commands: true, Time: time.Minute,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer spaces.Close()
			for i := range files {
				name := filepath.Join(folder, conversation, fmt.Sprintf("d%d/f%d", i%20, i))
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(name, make([]byte, 2048), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			tools := spaces.Tools()
			bash := tools[len(tools)-1]
			input, err := json.Marshal(in{"command": "true"})
			if err != nil {
				b.Fatal(err)
			}
			call := func() {
				out, err := bash.Call(b.Context(), tool.Call{
					ID: "c", Name: "Bash", Input: input, Conversation: conversation,
					Principal: footnote.Principal{Org: "o", User: "u"},
				})
				if err != nil || out.IsError {
					b.Fatalf("%v %v", out, err)
				}
			}
			call() // this call records the files
			for b.Loop() {
				call()
			}
		})
	}
}
