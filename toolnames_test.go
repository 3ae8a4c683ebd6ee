package footnote_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayNameTools lists the folders that choose tools by their names: the models that stand in for a real one, and what
// scripts them.
var mayNameTools = []string{"model/offline/", "model/modeltest/", "market/planner/", "test/"}

// TestToolNames checks that a tool's name appears only in its own package. Everything else uses the tool's Spec: its
// family, label and properties.
func TestToolNames(t *testing.T) {
	files := map[string]*ast.File{}
	fset := token.NewFileSet()
	walk(t, ".", ".go", func(name string, src []byte) {
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = f
	})
	homes := toolHomes(files)
	if len(homes) < 20 {
		t.Fatalf("found %d tools only: %v", len(homes), homes)
	}
	for name, f := range files {
		if slices.ContainsFunc(mayNameTools, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			word := text(n, nil)
			if home := homes[word]; home != nil && !slices.Contains(home, filepath.Dir(name)) {
				t.Errorf("%s names the tool %q of %v", fset.Position(n.Pos()), word, home)
			}
			return true
		})
	}
	var words []string
	for name := range homes {
		words = append(words, regexp.QuoteMeta(name))
	}
	slices.Sort(words)
	named := regexp.MustCompile("[\"'`](" + strings.Join(words, "|") + ")[\"'`]|" + // a string
		`(?m:^\s*(` + strings.Join(words, "|") + `): )`) // a key
	label := regexp.MustCompile(`(label|title)(: |=|=\{.*\? )$`) // "Edit" is a word for people, too
	for _, ext := range []string{".ts", ".tsx"} {
		walk(t, "web/ui/src", ext, func(name string, src []byte) {
			for _, at := range named.FindAllIndex(src, -1) {
				line := src[:at[0]]
				if !label.Match(line[strings.LastIndexByte(string(line), '\n')+1:]) {
					t.Errorf("%s:%d names a tool: %s", name, strings.Count(string(line), "\n")+1, src[at[0]:at[1]])
				}
			}
		})
	}
}

// walk calls f with the source files below a folder that are not tests.
func walk(t *testing.T, root, ext string, f func(name string, src []byte)) {
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch base := filepath.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && (base == "node_modules" || base == "testdata" || strings.HasPrefix(base, ".") && base != "."):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ext || strings.HasSuffix(name, "_test.go") ||
			strings.Contains(base, ".test."):
			return nil
		}
		src, err := os.ReadFile(name)
		if err == nil {
			f(filepath.ToSlash(name), src)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// toolHomes returns the folders that define each tool, by its name or alias: those with a tool.Spec of this name.
func toolHomes(files map[string]*ast.File) map[string][]string {
	constants := map[string]map[string]string{} // by folder
	for name, f := range files {
		dir := filepath.Dir(name)
		if constants[dir] == nil {
			constants[dir] = map[string]string{}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == len(v.Names) {
				for i, id := range v.Names {
					constants[dir][id.Name] = text(v.Values[i], nil)
				}
			}
			return true
		})
	}
	homes := map[string][]string{}
	for name, f := range files {
		dir := filepath.Dir(name)
		add := func(word string) {
			if word != "" && !slices.Contains(homes[word], dir) {
				homes[word] = append(homes[word], dir)
			}
		}
		for _, field := range specFields(f) {
			switch key, _ := field.Key.(*ast.Ident); key.Name {
			case "Name":
				add(text(field.Value, constants[dir]))
			case "Aliases":
				if list, ok := field.Value.(*ast.CompositeLit); ok {
					for _, alias := range list.Elts {
						add(text(alias.(*ast.KeyValueExpr).Key, constants[dir]))
					}
				}
			}
		}
	}
	return homes
}

// specFields returns the fields of every tool.Spec{…} and []tool.Spec{{…}} of a file.
func specFields(f *ast.File) (fields []*ast.KeyValueExpr) {
	isSpec := func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Spec" {
			return false
		}
		pkg, ok := sel.X.(*ast.Ident)
		return ok && pkg.Name == "tool"
	}
	take := func(lit *ast.CompositeLit) {
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				fields = append(fields, kv)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if isSpec(lit.Type) {
			take(lit)
		} else if list, ok := lit.Type.(*ast.ArrayType); ok && isSpec(list.Elt) {
			for _, e := range lit.Elts {
				if one, ok := e.(*ast.CompositeLit); ok {
					take(one)
				}
			}
		}
		return true
	})
	return fields
}

// text returns the value of a string literal, or of a constant; otherwise "".
func text(n ast.Node, constants map[string]string) string {
	switch n := n.(type) {
	case *ast.Ident:
		return constants[n.Name]
	case *ast.BasicLit:
		if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
			return s
		}
	}
	return ""
}
