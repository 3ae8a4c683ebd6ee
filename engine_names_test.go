package footnote_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// engineNamesIn lists the folders that may have the name of a database engine in their code, besides the engines
// themselves: what lists them, the stores in Postgres, and what tests with databases of its own.
var engineNamesIn = []string{
	"internal/app", "store/postgres", "market/postgres", "internal/pgtest", "model/offline/evalset",
}

// engineNameIn lists single declarations that may: the choice of a store, and the engine of browsers.
var engineNameIn = []string{"config.PostgresURL", "internal/localschema.Dialect"}

// TestEngineNamesStayInEngineFolders checks that engine-specific code is in the engine's folder, in an engines.Engine
// or a source.Dialect. Driver names passed to sql.Open do not count.
func TestEngineNamesStayInEngineFolders(t *testing.T) {
	files, set := map[string]*ast.File{}, token.NewFileSet()
	walk(t, ".", ".go", func(file string, src []byte) {
		f, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[file] = f
	})
	var names []string
	for file, f := range files {
		if folder := path.Dir(file); path.Dir(folder) == "source" && declaresEngine(f) {
			names = append(names, path.Base(folder))
		}
	}
	if len(names) < 3 {
		t.Fatalf("found the engines %q only", names)
	}
	for file, f := range files {
		folder := path.Dir(file)
		own := slices.ContainsFunc(names, func(name string) bool {
			return strings.HasPrefix(folder+"/", "source/"+name+"/")
		})
		if !own && !slices.Contains(engineNamesIn, folder) {
			findEngineNames(t, set, folder, f, names)
		}
	}
}

func declaresEngine(f *ast.File) bool {
	return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Name.Name == "Engine" && fn.Recv == nil
	})
}

// findEngineNames reports the string literals of a file that name an engine, alone or as the scheme of an address.
func findEngineNames(t *testing.T, set *token.FileSet, folder string, f *ast.File, names []string) {
	t.Helper()
	for _, decl := range f.Decls {
		name := folder + "."
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name += d.Name.Name
		case *ast.GenDecl:
			if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
				name += v.Names[0].Name
			}
		}
		if slices.Contains(engineNameIn, name) {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if fn, ok := call.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "Open" {
					return false
				}
			}
			if _, ok := n.(*ast.Field); ok { // tags
				return false
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(lit.Value)
			scheme, _, _ := strings.Cut(text, ":")
			if slices.Contains(names, scheme) && !strings.ContainsAny(text, " @") {
				t.Errorf("%s: %s has the name of a database engine; make it a field of source.Dialect or of "+
					"engines.Engine", set.Position(lit.Pos()), lit.Value)
			}
			return true
		})
	}
}
