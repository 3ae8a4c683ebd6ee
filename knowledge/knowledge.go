// Package knowledge reads what a company says about its data: a glossary in free text and a model of its tables,
// columns, joins and metrics. Both are in one folder, which is checked as a whole: a fault names its file and line, and
// a folder with a fault gives no Context. A Context never changes; its digest names its content.
package knowledge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/footnotehq/footnote/knowledge/suite"
	"github.com/footnotehq/footnote/knowledge/verified"
)

// The bounds of a folder. A folder that exceeds one is faulty.
const (
	MaxGlossary = 4 << 10 // bytes of glossary.md
	MaxFolder   = 1 << 20 // bytes of all files
	MaxFiles    = 500
	maxDepth    = 4 // folders within folders
)

// The files of a context.
const (
	GlossaryFile = "glossary.md"
	ModelFile    = "model.yaml"
)

// Context is one version of what a company says about its data.
type Context struct {
	// Digest names the content of all files: "sha256:" and 64 hex digits. Two folders with equal files have one digest.
	Digest   string
	Glossary string // free text; it is for everybody who may ask
	Model    Model
	Verified *verified.Set
	files    map[string][]byte // without those of tests, which change no answer
	tests    map[string][]byte
	// protected are the indexes of the datasets of which something is hidden from somebody: each query looks at them.
	protected []int
}

// Fault says what is wrong with a file. Line is 0 if the fault is in no particular line, and File is empty if it
// concerns the folder.
type Fault struct {
	File    string
	Line    int
	Problem string // what is wrong and what to do
}

// String returns the fault as file:line: problem.
func (f Fault) String() string {
	switch {
	case f.File == "":
		return f.Problem
	case f.Line == 0:
		return f.File + ": " + f.Problem
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Problem)
}

// Faults is the error of a faulty folder. It has at least one element.
type Faults []Fault

// maxFaults is the number of faults that an error message lists.
const maxFaults = 20

func (f Faults) Error() string {
	lines := make([]string, 0, len(f))
	for _, fault := range f[:min(len(f), maxFaults)] {
		lines = append(lines, fault.String())
	}
	if more := len(f) - maxFaults; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// err returns nil if there are no faults.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// add appends a fault.
func (f *Faults) add(file string, line int, format string, args ...any) {
	*f = append(*f, Fault{File: file, Line: line, Problem: fmt.Sprintf(format, args...)})
}

// Load reads and checks a folder. Links may lead to files of the folder, and not out of it. If the folder is faulty,
// the error is Faults; if it cannot be read, any other error.
func Load(dir string) (*Context, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the context folder: %w", err)
	}
	defer root.Close()
	return Read(root.FS())
}

// Read does the work of Load for any file system.
func Read(fsys fs.FS) (*Context, error) {
	files, err := readFiles(fsys)
	if err != nil {
		return nil, err
	}
	return fromFiles(files)
}

// With returns the context with further files, by their paths within the folder. It refuses to replace a file.
func (c *Context) With(more map[string][]byte) (*Context, error) {
	files, total := maps.Clone(c.files), 0
	if files == nil {
		files = map[string][]byte{}
	}
	maps.Copy(files, c.tests)
	var faults Faults
	for name, data := range more {
		if _, taken := files[name]; taken {
			faults.add(name, 0, "the context has a file of this name; choose another name")
		} else if !known(name) {
			faults.add(name, 0, "a context has no such file; %s", knownNames)
		}
		files[name] = data
	}
	for _, data := range files {
		total += len(data)
	}
	if len(files) > MaxFiles || total > MaxFolder {
		faults.add("", 0, "the folder would have more than %d files or %d bytes; remove some", MaxFiles, MaxFolder)
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	return fromFiles(files)
}

func (c *Context) hasModel() bool { return c.files[ModelFile] != nil }

// fromFiles checks the files of a folder.
func fromFiles(files map[string][]byte) (*Context, error) {
	var faults Faults
	tests := takeTests(files, &faults)
	c := &Context{Digest: digestOf(files), files: files, tests: tests}
	c.Glossary = checkGlossary(files[GlossaryFile], &faults)
	// A file that is about to be written is empty. Read as a model, it would hide nothing.
	if data, ok := files[ModelFile]; ok && len(bytes.TrimSpace(data)) == 0 {
		faults.add(ModelFile, 0, "the file is empty; write a model, or remove the file")
	}
	c.Model = readModel(files[ModelFile], &faults)
	c.Verified = readVerified(files, &faults)
	for i := range c.Model.Datasets {
		if c.Model.Datasets[i].protects() {
			c.protected = append(c.protected, i)
		}
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	for _, q := range c.Verified.All() {
		q.Needs = c.needs(q.SQL)
	}
	return c, nil
}

// readFiles returns the files of a context by their paths within the folder. Hidden files and folders are skipped, such
// as those of a version control system.
func readFiles(fsys fs.FS) (map[string][]byte, error) {
	files, total := map[string][]byte{}, 0
	var faults Faults
	err := fs.WalkDir(fsys, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == ".":
			return nil
		case strings.HasPrefix(entry.Name(), "."):
			return skip(entry)
		case entry.IsDir() && strings.Count(path, "/") >= maxDepth:
			return Faults{{File: path, Problem: "folders are nested too deeply; move the files up"}}
		case entry.IsDir():
			return nil
		}
		if path == RecordingsFile {
			return nil // may be large, and is no part of what the company says
		}
		if !known(path) {
			faults.add(path, 0, "a context has no such file; remove it, or rename it: %s", knownNames)
			return nil
		}
		if len(files) == MaxFiles {
			return Faults{{Problem: fmt.Sprintf("the folder has more than %d files; merge some", MaxFiles)}}
		}
		data, err := readFile(fsys, path, MaxFolder-total)
		files[path], total = data, total+len(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	return files, faults.err()
}

// skip returns what WalkDir needs to pass over an entry.
func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

const knownNames = "it has " + GlossaryFile + ", " + ModelFile + ", " + verified.Folder + "/*.sql and " + suite.Folder +
	"/*.yaml"

// known reports whether a context has a file at a path.
func known(path string) bool {
	return path == GlossaryFile || path == ModelFile || isVerified(path) || isTest(path)
}

// readFile reads a regular file of at most limit bytes.
func readFile(fsys fs.FS, path string, limit int) ([]byte, error) {
	info, err := fs.Stat(fsys, path) // opening something else, such as a named pipe, could block
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, Faults{{File: path, Problem: "it is not a regular file; replace it by one"}}
	}
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		return nil, Faults{{Problem: fmt.Sprintf("all files have more than %d bytes; shorten them", MaxFolder)}}
	}
	return data, err
}

// digestOf returns the digest of files with their names.
func digestOf(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%d %s%d ", len(name), name, len(files[name]))
		h.Write(files[name])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// checkGlossary returns the text of the glossary.
func checkGlossary(data []byte, faults *Faults) string {
	if len(data) > MaxGlossary {
		faults.add(GlossaryFile, 1+bytes.Count(data[:MaxGlossary], []byte("\n")),
			"the glossary has %d bytes, and the limit of %d is reached here; shorten it, or move descriptions of "+
				"tables and columns to %s", len(data), MaxGlossary, ModelFile)
	}
	for i, line := range strings.Split(string(data), "\n") {
		if !utf8.ValidString(line) {
			faults.add(GlossaryFile, i+1, "the line is not UTF-8; save the file as UTF-8")
		} else if strings.ContainsFunc(line, isControl) {
			faults.add(GlossaryFile, i+1, "the line has a control character; remove it")
		}
	}
	return strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
}

// isControl reports whether a character must not be in a text of one line.
func isControl(r rune) bool { return r < ' ' && r != '\t' && r != '\r' || r == 0x7f }

// IsFault reports whether an error lists faults of a folder, and returns them.
func IsFault(err error) (Faults, bool) { return errors.AsType[Faults](err) }
