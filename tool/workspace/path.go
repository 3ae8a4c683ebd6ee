package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote/tool"
)

// Limits on a path.
const (
	maxPath  = 4096
	maxName  = 255
	maxDepth = 32
)

// locate converts a path given by the model into one relative to the workspace: "." is the workspace itself. It
// looks only at names; os.Root checks where links lead when a file is opened.
func locate(given string) (string, error) {
	switch {
	case given == "":
		return ".", nil
	case len(given) > maxPath:
		return "", tool.Refusef("The path is longer than %d bytes.", maxPath)
	case !utf8.ValidString(given):
		return "", tool.Refusef("The path is not UTF-8.")
	}
	for _, r := range given {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\\' || r == '\u2028' || r == '\u2029' {
			return "", tool.Refusef("The path %q has a character that is not allowed in names here.", given)
		}
	}
	full := path.Clean(given)
	if !strings.HasPrefix(given, "/") {
		full = path.Join(Root, given)
	}
	if full == Root {
		return ".", nil
	}
	rel, inside := strings.CutPrefix(full, Root+"/")
	if !inside {
		return "", tool.Refusef("%s is outside of the workspace. Paths begin with %s/ or are relative to it.", given,
			Root)
	}
	parts := strings.Split(rel, "/")
	if len(parts) > maxDepth {
		return "", tool.Refusef("The path is deeper than %d folders.", maxDepth)
	}
	for _, p := range parts {
		if len(p) > maxName {
			return "", tool.Refusef("A name of the path is longer than %d bytes.", maxName)
		}
	}
	return rel, nil
}

// protected lists names of files that other programs obey when they open the folder. They are
// compared ignoring case. A name with a slash is a path that may occur anywhere below the folder.
var protected = []string{
	".git/hooks", ".git/config", ".gitmodules", ".mcp.json", ".claude", ".vscode", ".idea",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
	".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".envrc", ".ssh", ".gitconfig",
}

// checkName returns a refusal for protected names.
func checkName(rel string) error {
	lower := "/" + strings.ToLower(rel) + "/"
	for _, p := range protected {
		if strings.Contains(lower, "/"+p+"/") {
			return tool.Refusef("%s is protected: other programs obey files of that name, so it is not written here. "+
				"Choose another name, or ask the user to make the file.", rel)
		}
	}
	return nil
}

// openFile opens a regular file without further hard links for reading. It never blocks, whatever the name stands
// for.
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

var errLarge = errors.New("it is too large")

// readFile reads a file that openFile opens. For a file of more than maxBytes it returns errLarge.
func readFile(root *os.Root, name string, maxBytes int64) ([]byte, fs.FileInfo, error) {
	f, info, err := openFile(root, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > maxBytes {
		return nil, info, errLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes))
	return data, info, err
}

func checkFile(rel string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return tool.Refusef("%s is a folder. Use Glob to see what is in it.", rel)
	case !info.Mode().IsRegular():
		return tool.Refusef("%s is not a regular file.", rel)
	case links(info) > 1:
		return tool.Refusef(
			"%s has a second name (a hard link), perhaps outside of the workspace, so it is not touched.",
			rel)
	}
	return nil
}

// similar returns a file that the model may have meant: the same name in another folder, or in other case.
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
