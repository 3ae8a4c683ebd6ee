package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/workspace"
)

// TestFoldersOfSeveralServers checks servers that share a log. If they also share a folder, each sees what the
// other wrote; if not, each reports where a workspace is.
func TestFoldersOfSeveralServers(t *testing.T) {
	shared := func(o *workspace.Options) { o.Shared = true }
	one := newBench(t, shared)
	one.ok("Write", map[string]any{"file_path": "/workspace/" + "a.txt", "content": "one"})
	same := *one
	same.start(shared)
	if got := same.ok("Read", map[string]any{"file_path": "/workspace/" + "a.txt"}); !strings.Contains(got, "one") {
		t.Errorf("in the same folder a.txt is %q", got)
	}
	same.ok("Write", map[string]any{"file_path": "/workspace/" + "b.txt", "content": "two"})
	one.ok("Write", map[string]any{"file_path": "/workspace/" + "c.txt", "content": "three"}) // sees the other's

	other := *one
	other.folder = filepath.Join(t.TempDir(), "workspaces")
	other.start(shared)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := func(what string, err error) {
		t.Helper()
		if footnote.CodeOf(err) != footnote.StorageUnavailable || !strings.Contains(footnote.MessageOf(err), host) {
			t.Errorf("%s in another folder: %v; want storage_unavailable that names %s", what, err, host)
		}
	}
	for _, tl := range other.spaces.Tools() {
		if tl.Spec().Name == "Read" {
			_, err := tl.Call(t.Context(), tool.Call{
				Name:         "Read",
				Input:        []byte(`{"file_path":"/workspace/a.txt"}`),
				Conversation: conversation,
			})
			elsewhere("Read", err)
		}
	}
	_, err = other.spaces.Files(t.Context(), conversation)
	elsewhere("Files", err)
	_, err = other.spaces.File(t.Context(), conversation, "a.txt", "")
	elsewhere("File", err)
	elsewhere("Revert", other.spaces.Revert(t.Context(), footnote.Principal{
		Org:  "o",
		User: "u",
	}, conversation, "a.txt", ""))
	elsewhere("Remove", other.spaces.Remove(t.Context(), conversation))
	if files, err := one.spaces.Files(t.Context(), conversation); err != nil || len(files) != 3 {
		t.Errorf("at home there are %v, %v", files, err)
	}

	if err := os.WriteFile(filepath.Join(other.folder, ".home"), []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.Open(workspace.Options{Folder: other.folder, Log: one.log, Shared: true}); err == nil {
		t.Error("a damaged home was accepted")
	}
}
