package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/strictjson"
)

func TestRefused(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, doc := range map[string]string{
		"empty":               "",
		"only space":          " \n",
		"trailing value":      `{} {}`,
		"trailing comma":      `[1,]`,
		"leading comma":       `[,1]`,
		"object comma":        `{"a":1,}`,
		"no colon":            `{"a" 1}`,
		"bare key":            `{a:1}`,
		"single quotes":       `{'a':1}`,
		"comment":             `{/**/}`,
		"duplicate":           `{"a":1,"a":2}`,
		"duplicate escaped":   `{"a":1,"\u0061":2}`,
		"duplicate far down":  `{"x":[{"a":1,"b":{},"a":2}]}`,
		"duplicate in many":   manyKeys(40, "k17"),
		"bad UTF-8":           "\"\xff\"",
		"overlong UTF-8":      "\"\xc0\xaf\"",
		"surrogate in UTF-8":  "\"\xed\xa0\x80\"",
		"bad UTF-8 key":       "{\"\xff\":1}",
		"lone high surrogate": `"\ud800"`,
		"lone low surrogate":  `"\udc00"`,
		"two high surrogates": `"\ud800\ud800"`,
		"escaped NUL":         `"a\u0000b"`,
		"NUL":                 "\"a\x00b\"",
		"NUL outside":         "1\x00",
		"control in string":   "\"a\nb\"",
		"unknown escape":      `"\x41"`,
		"cut escape":          `"\`,
		"cut unicode":         `"\u12`,
		"open string":         `"abc`,
		"open array":          `[1`,
		"open object":         `{"a":1`,
		"byte order mark":     "\ufeff{}",
		"needless zero":       `01`,
		"plus":                `+1`,
		"no fraction":         `1.`,
		"no exponent":         `1e`,
		"minus alone":         `-`,
		"NaN":                 `NaN`,
		"word":                `nul`,
		"wrong case":          `True`,
		"nested too deep":     deep(101),
		"9000 deep, ignored":  `{"model":"m","x":` + deep(9000) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := strictjson.Parse([]byte(doc))
			if _, ok := errors.AsType[*strictjson.SyntaxError](err); !ok {
				t.Errorf("Check(%.60q) = %v, want a *SyntaxError", doc, err)
			}
		})
	}
	if _, err := strictjson.Parse([]byte(deep(100))); err != nil {
		t.Errorf("100 deep: %v", err)
	}
}

// manyKeys returns an object of n keys followed by one more, named last.
func manyKeys(n int, last string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		b.WriteString(`"k` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":0,`)
	}
	return b.String() + `"` + last + `":0}`
}

func TestValues(t *testing.T) {
	v, err := strictjson.Parse(
		[]byte(` {"s":"a\n\u00e9\ud83d\ude00\"\/","n":-12,"f":1.5e3,"t":true,"z":null,"l":[1,[],{}],"Model":"x","e":""} `))
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := v.Get("s").Text(); !ok || s != "a\né😀\"/" {
		t.Errorf("s = %q, %v", s, ok)
	}
	if s, ok := v.Get("e").Text(); !ok || s != "" {
		t.Errorf("e = %q, %v", s, ok)
	}
	if n, ok := v.Get("n").Int(); !ok || n != -12 {
		t.Errorf("n = %d, %v", n, ok)
	}
	if _, ok := v.Get("f").Int(); ok {
		t.Error("1.5e3 was accepted as an integer")
	}
	if b, ok := v.Get("t").Bool(); !ok || !b {
		t.Errorf("t = %v, %v", b, ok)
	}
	if !v.Get("z").Absent() || !v.Get("nowhere").Absent() || v.Get("s").Absent() {
		t.Error("Absent is wrong")
	}
	if got := v.Get("model").Kind(); got != strictjson.Missing {
		t.Errorf("model found as %v; names must be compared exactly", got)
	}
	if got := string(v.Get("l").Raw()); got != `[1,[],{}]` || len(v.Get("l").Items()) != 3 {
		t.Errorf("l = %s, %d items", got, len(v.Get("l").Items()))
	}
	if len(v.Members()) != 8 {
		t.Errorf("%d members, want 8", len(v.Members()))
	}
	if _, ok := v.Get("n").Text(); ok {
		t.Error("a number was accepted as a string")
	}
}

func TestEscaping(t *testing.T) {
	for _, text := range []string{"", "plain", "a\"b\\c", "tab\tnl\ncr\r\b\f\x01\x7f", "é😀\u2028\u2029", "bad\xffutf"} {
		quoted := strictjson.AppendString(nil, text)
		var got string
		if err := json.Unmarshal(quoted, &got); err != nil {
			t.Errorf("AppendString(%q) = %s: %v", text, quoted, err)
			continue
		}
		if want := strings.ToValidUTF8(text, "\ufffd"); got != want {
			t.Errorf("AppendString(%q) reads back as %q", text, got)
		}
		if back := string(strictjson.AppendUnescaped(nil, quoted[1:len(quoted)-1])); back != got {
			t.Errorf("AppendUnescaped(%s) = %q, want %q", quoted, back, got)
		}
	}
}

// FuzzParse checks that accepted documents are valid JSON to the standard library, and that strings decode
// the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e-3,"\ud83d\ude00",null,true]}`, `"\u00e9"`, `{"a":1,"a":2}`, "\"\xff\"", `[[[`, `-0`, `1E+2`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := strictjson.Parse(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted %q, which is not JSON", data)
		}
		if s, ok := v.Text(); ok {
			var want string
			if err := json.Unmarshal(data, &want); err != nil || s != want {
				t.Fatalf("Text of %q = %q, want %q (%v)", data, s, want, err)
			}
		}
		if !bytes.Equal(v.Raw(), bytes.TrimSpace(data)) && !bytes.ContainsAny(data, "\v\f\u0085\u00a0") {
			t.Fatalf("Raw of %q = %q", data, v.Raw())
		}
	})
}

// BenchmarkHistory parses a request with 200 KB of history.
func BenchmarkHistory(b *testing.B) {
	turn := `{"role":"user","content":"` + strings.Repeat("How much did we sell in May? ", 34) + `\n"}`
	doc := []byte(`{"model":"analyst","messages":[` + strings.Repeat(turn+",", 200) + turn + `]}`)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := strictjson.Parse(doc); err != nil {
			b.Fatal(err)
		}
	}
}
