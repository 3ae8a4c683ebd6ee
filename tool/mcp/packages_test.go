package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/tool/mcp"
)

// published returns an npm package of an MCP server, as published.
func published(t *testing.T, name string, args ...string) mcp.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts programs of Node.js, which make check leaves to make test")
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", "test", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	if err := clienttest.Install(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(dir, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	return mcp.Server{
		Name: "npm", Command: append([]string{"node", main}, args...), Timeout: 10 * time.Second, MaxOutput: 50_000,
	}
}

func TestServerEverything(t *testing.T) {
	s := open(t, published(t, "server-everything"))
	if n := len(s.Tools([]string{"npm"})); n < 10 {
		t.Fatalf("%d tools", n)
	}
	if out := call(t, s, "npm", "echo", `{"message":"twelve bikes"}`); !strings.Contains(out.Content, "twelve bikes") {
		t.Errorf("echo: %+v", out)
	}
	if out := call(t, s, "npm", "get-sum", `{"a":2,"b":40}`); !strings.Contains(out.Content, "42") {
		t.Errorf("get-sum: %+v", out)
	}
	if out := call(t, s, "npm", "get-structured-content", `{"location":"Chicago"}`); out.Rows == nil ||
		len(out.Rows.Rows) != 1 {
		t.Errorf("structured content: %+v", out)
	}
	if out := call(t, s, "npm", "get-tiny-image", `{}`); !strings.Contains(out.Content, "an image") {
		t.Errorf("an image: %+v", out)
	}
	list := call(t, s, "npm", "read_resource", `{}`).Content
	uri, _, _ := strings.Cut(list, " ")
	if out := call(t, s, "npm", "read_resource", `{"uri":"`+uri+`"}`); out.IsError || len(out.Content) < 20 {
		t.Errorf("the resource %q: %+v", uri, out)
	}
}

func TestServerFilesystem(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("Nineteen."), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, published(t, "server-filesystem", folder))
	at := func(name string) string {
		data, _ := json.Marshal(map[string]string{"path": filepath.Join(folder, name), "content": "Written."})
		return string(data)
	}
	read := func(name string) string {
		data, _ := json.Marshal(map[string]string{"path": filepath.Join(folder, name)})
		return string(data)
	}
	if out := call(t, s, "npm", "read_text_file", read("a.txt")); !strings.Contains(out.Content, "Nineteen.") {
		t.Errorf("read: %+v", out)
	}
	if out := call(t, s, "npm", "read_text_file", read("../../../etc/passwd")); !out.IsError {
		t.Errorf("a file outside the folder: %+v", out)
	}
	if spec := find(t, s, "npm", "write_file").Spec(); spec.ReadOnly || !spec.Outside {
		t.Errorf("write_file: %+v", spec)
	}
	if spec := find(t, s, "npm", "read_text_file").Spec(); !spec.ReadOnly {
		t.Errorf("read_text_file: %+v", spec)
	}
	if out := call(t, s, "npm", "write_file", at("b.txt")); out.IsError {
		t.Errorf("write: %+v", out)
	}
	if data, err := os.ReadFile(filepath.Join(folder, "b.txt")); err != nil || string(data) != "Written." {
		t.Errorf("the file that was written: %q, %v", data, err)
	}
}
