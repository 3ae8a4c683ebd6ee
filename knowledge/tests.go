package knowledge

import (
	"errors"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/footnotehq/footnote/knowledge/suite"
)

// RecordingsFile has the recordings of a context's tests.
const RecordingsFile = suite.Folder + ".recordings"

// isTest reports whether the file at a path has tests.
func isTest(name string) bool { return path.Dir(name) == suite.Folder && path.Ext(name) == ".yaml" }

// takeTests removes the files with tests from the files of a context, checks them and returns them.
func takeTests(files map[string][]byte, faults *Faults) map[string][]byte {
	tests := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !isTest(name) {
			continue
		}
		tests[name] = files[name]
		delete(files, name)
		if _, err := suite.Parse(tests[name]); err != nil {
			faults.add(name, 0, "%v", err)
		}
	}
	if len(*faults) == 0 {
		if _, err := suite.Join(tests); err != nil {
			faults.add(suite.Folder, 0, "%v", err)
		}
	}
	return tests
}

// Tests returns the tests in the folder; nil if there are none.
func (c *Context) Tests() *suite.Suite {
	s, _ := suite.Join(c.tests) // they were checked
	return s
}

// AddFiles writes new files into a context folder. A file that exists with the same content is kept, and one with
// another content is an error. A reader of the folder never sees a part of a file.
func AddFiles(dir string, files map[string][]byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) { // tests come first
		if err := addFile(root, name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// ErrTaken is returned by AddFiles when a file exists with another content.
var ErrTaken = errors.New("the context folder has another file of this name")

func addFile(root *os.Root, name string, data []byte) error {
	if old, err := root.ReadFile(name); err == nil {
		if string(old) != string(data) {
			return ErrTaken
		}
		return nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	temp := path.Join(path.Dir(name), "."+path.Base(name)+".new") // the names with a dot are passed over
	f, err := root.OpenFile(temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}
