package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a path.
const (
	mostPath  = 4096
	mostName  = 255
	mostDepth = 32
)

// locate turns a path as a model says it into one below the workspace: "." for the
// workspace itself. It decides by name alone; what links lead to is decided by
// os.Root when a file is opened.
func locate(said string) (string, error) {
	switch {
	case said == "":
		return ".", nil
	case len(said) > mostPath:
		return "", refuse("The path is longer than %d bytes.", mostPath)
	case !utf8.ValidString(said):
		return "", refuse("The path is not UTF-8.")
	}
	for _, r := range said {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\\' || r == '\u2028' || r == '\u2029' {
			return "", refuse("The path %q has a character that is not allowed in names here.", said)
		}
	}
	rel := said
	if strings.HasPrefix(said, "/") {
		clean := path.Clean(said)
		if clean == Root {
			return ".", nil
		}
		var ok bool
		if rel, ok = strings.CutPrefix(clean, Root+"/"); !ok {
			return "", refuse("%s is outside of the workspace. Paths begin with %s/ or are relative to it.", said, Root)
		}
	}
	rel = path.Clean(rel)
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", refuse("%s is outside of the workspace. Paths begin with %s/ or are relative to it.", said, Root)
	}
	parts := strings.Split(rel, "/")
	if len(parts) > mostDepth {
		return "", refuse("The path is deeper than %d folders.", mostDepth)
	}
	for _, p := range parts {
		if len(p) > mostName {
			return "", refuse("A name of the path is longer than %d bytes.", mostName)
		}
	}
	return rel, nil
}

// protected are names whose files other programs obey when somebody opens the
// folder with them; they are compared without regard to case. A name with a slash
// is a path that may stand anywhere below.
var protected = []string{
	".git/hooks", ".git/config", ".gitmodules", ".mcp.json", ".claude", ".vscode", ".idea",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
	".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".envrc", ".ssh", ".gitconfig",
}

// checkName refuses protected names.
func checkName(rel string) error {
	lower := "/" + strings.ToLower(rel) + "/"
	for _, p := range protected {
		if strings.Contains(lower, "/"+p+"/") {
			return refuse("%s is protected: other programs obey files of that name, so it is not written here. Choose another name, or ask the user to make the file.", rel)
		}
	}
	return nil
}

// openFile opens a file for reading: a regular one that has no second name
// somewhere else. It never waits, whatever the name stands for.
func openFile(root *os.Root, rel string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkFile(rel, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func checkFile(rel string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return refuse("%s is a folder. Use Glob to see what is in it.", rel)
	case !info.Mode().IsRegular():
		return refuse("%s is not a regular file.", rel)
	case links(info) > 1:
		return refuse("%s has a second name (a hard link), perhaps outside of the workspace, so it is not touched.", rel)
	}
	return nil
}

// readable opens a file for the model, or says in words why not.
func (s *space) readable(rel string) (*os.File, fs.FileInfo, error) {
	f, info, err := openFile(s.root, rel)
	if err == nil {
		return f, info, nil
	}
	if _, ok := errors.AsType[*refusal](err); ok {
		return nil, nil, err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, refuse("There is no file %s.%s", rel, s.similar(rel))
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return nil, nil, refuse("%s cannot be opened: %v.", rel, err)
}

// similar names a file that may have been meant: one with the same name in another
// folder, or in other letters.
func (s *space) similar(rel string) string {
	want, found := strings.ToLower(path.Base(rel)), []string{}
	_ = walk(s.root, func(name string, _ fs.FileInfo) error {
		if base := strings.ToLower(path.Base(name)); base == want || strings.TrimSuffix(base, path.Ext(base)) == want {
			found = append(found, name)
		}
		if len(found) == 3 {
			return fs.SkipAll
		}
		return nil
	})
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf(" Did you mean %s?", strings.Join(found, " or "))
}
