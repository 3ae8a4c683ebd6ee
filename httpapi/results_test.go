package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/footnotehq/footnote/internal/view"
)

func TestKeptViewsAreBounded(t *testing.T) {
	large := view.View{Rows: slices.Repeat([]json.RawMessage{make([]byte, 1<<20)}, 100)}
	v := &views{}
	made := func(of view.View) func() (view.View, error) { return func() (view.View, error) { return of, nil } }
	none := func() (view.View, error) { return view.View{}, errors.New("it is not kept") }
	for i := range maxViews + 10 {
		if _, err := v.get(fmt.Sprint(i), made(view.View{})); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.kept) != maxViews {
		t.Errorf("%d views are kept, want %d", len(v.kept), maxViews)
	}
	if _, err := v.get("9", none); err == nil {
		t.Error("an old view is kept")
	}
	if _, err := v.get("10", none); err != nil {
		t.Errorf("a new view: %v", err)
	}
	for _, name := range []string{"large", "larger"} {
		if _, err := v.get(name, made(large)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.get("larger", none); err != nil || len(v.kept) != 1 {
		t.Errorf("%v, %d views are kept after two of 100 MB", err, len(v.kept))
	}
}
