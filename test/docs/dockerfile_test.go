//go:build unix

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instructions returns the instructions of a Dockerfile, with continued lines joined.
func instructions(t *testing.T) (list [][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", " ")) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			list = append(list, words)
		}
	}
	return list
}

// ignored reports whether .dockerignore excludes a path from a build. The patterns are names from the root,
// or **/ and the pattern of a name.
func ignored(t *testing.T, path string) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range strings.FieldsSeq(string(data)) {
		name, anywhere := strings.CutPrefix(pattern, "**/")
		if strings.ContainsAny(name, "!/") && anywhere || strings.HasPrefix(name, "!") {
			t.Fatalf("the test does not know patterns such as %s", pattern)
		}
		for p := path; p != "."; p = filepath.Dir(p) {
			if ok, _ := filepath.Match(name, filepath.Base(p)); p == pattern || anywhere && ok {
				return true
			}
		}
	}
	return false
}

// TestDockerfile checks that everything the Dockerfile names exists: files, packages, stages and settings. No
// test builds it.
func TestDockerfile(t *testing.T) {
	settings, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	var stages []string
	last := map[string]string{} // of the last stage, by instruction
	for _, words := range instructions(t) {
		rest := strings.Join(words[1:], " ")
		switch last[words[0]] = rest; words[0] {
		case "FROM":
			clear(last)
			if strings.Contains(words[1], "/") {
				t.Errorf("%s is not an official image", words[1])
			}
			if _, name, ok := strings.Cut(rest, " AS "); ok {
				stages = append(stages, name)
			}
		case "COPY":
			checkCopy(t, words[1:], stages)
		case "ENV":
			for _, pair := range words[1:] {
				if name, _, _ := strings.Cut(pair, "="); !strings.Contains(string(settings), "`"+name+"`") {
					t.Errorf("%s is not a setting", name)
				}
			}
		case "RUN":
			for _, script := range regexp.MustCompile(`scripts/\S+`).FindAllString(rest, -1) {
				if info, err := os.Stat(filepath.Join(root, script)); err != nil || info.Mode()&0o100 == 0 ||
					ignored(t, script) {
					t.Errorf("%s cannot be run: %v", script, err)
				}
			}
			if strings.Contains(rest, "go build") && !strings.HasSuffix(rest, " ./cmd/footnote") {
				t.Errorf("%s does not build the program", rest)
			}
		}
	}
	for name, want := range map[string]string{
		"USER": `^[1-9]`, "VOLUME": `^/data$`, "STOPSIGNAL": `^SIGTERM$`, "HEALTHCHECK": `/healthz`,
		"ENTRYPOINT": `^\["footnote"\]$`,
	} {
		if !regexp.MustCompile(want).MatchString(last[name]) {
			t.Errorf("the image has %s %q, not %s", name, last[name], want)
		}
	}
}

// checkCopy checks that the files that an instruction copies exist.
func checkCopy(t *testing.T, words, stages []string) {
	t.Helper()
	if from, ok := strings.CutPrefix(words[0], "--from="); ok {
		if !slices.Contains(stages, from) {
			t.Errorf("COPY from %s, which is not an earlier stage", from)
		}
		return
	}
	for _, path := range words[:len(words)-1] {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil || ignored(t, filepath.Clean(path)) {
			t.Errorf("COPY %s: not in the build context (%v)", path, err)
		}
	}
}

// TestDockerfileHasPackages checks that the program can be built from what a build receives: every folder of
// its packages in this module, and what they embed.
func TestDockerfileHasPackages(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{$d := .Dir}}{{if .Module}}{{if .Module.Main}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range `+
			`.EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, "./cmd/footnote")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(string(out))
	if len(files) < 100 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		path, err := filepath.Rel(here, file)
		if err != nil {
			t.Fatal(err)
		}
		// The app is built in its own stage.
		if ignored(t, path) && !strings.HasPrefix(path, "web/dist/") {
			t.Errorf("the program needs %s, which .dockerignore leaves out", path)
		}
	}
}
