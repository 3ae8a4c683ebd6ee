package footnote_test

import (
	"context"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
)

func TestOriginAsAComment(t *testing.T) {
	for _, c := range []struct {
		o    footnote.Origin
		want string
	}{
		{footnote.Origin{}, ""},
		{footnote.Origin{Run: "run_A1"}, "/* footnote run=run_A1 */ "},
		{footnote.Origin{Request: "a-b.c_1"}, "/* footnote request=a-b.c_1 */ "},
		{footnote.Origin{Run: "run_A1", Request: "req_B2"}, "/* footnote run=run_A1 request=req_B2 */ "},
		{footnote.Origin{Run: "run_A1", Request: "x */ DROP TABLE t; --"}, "/* footnote run=run_A1 */ "},
		{footnote.Origin{Run: "a\r\nKey: b", Request: strings.Repeat("x", 129)}, ""},
	} {
		ctx := footnote.WithOrigin(context.Background(), c.o)
		if got := footnote.OriginOf(ctx).Comment(); got != c.want {
			t.Errorf("%+v gives %q, want %q", c.o, got, c.want)
		}
	}
	if got := footnote.OriginOf(context.Background()).Comment(); got != "" {
		t.Errorf("nothing gives %q", got)
	}
}
