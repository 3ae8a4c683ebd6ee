package visible_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/visible"
)

// tags is a text in tag characters, which nobody sees.
func tags(s string) string {
	return strings.Map(func(r rune) rune { return 0xe0000 + r }, s)
}

func TestTextReplacesHiddenCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"a" + tags("hi"):           "a<U+E0068><U+E0069>",
		"\U0001f3f4" + tags("hi"):  "\U0001f3f4<U+E0068><U+E0069>",
		"pay \u202eeno\u202c":      "pay <U+202E>eno<U+202C>",
		"\u2066x\u2069":            "<U+2066>x<U+2069>",
		"a\u200bb":                 "a<U+200B>b",
		"a\u200db":                 "a<U+200D>b",
		"\ufeffid":                 "<U+FEFF>id",
		"x\u2060y\u2063z":          "x<U+2060>y<U+2063>z",
		"😊\U000e0101\U000e01ef":    "😊<U+E0101><U+E01EF>",
		"😊\ufe0f\ufe01\ufe02":      "😊\ufe0f<U+FE01><U+FE02>",
		"😊\ufe00":                  "😊<U+FE00>",
		"1\ufe0f 2\ufe0e, 3\ufe00": "1<U+FE0F> 2<U+FE0E>, 3<U+FE00>",
		"1\ufe0e2\ufe0f\u20e3":     "1<U+FE0E>2\ufe0f\u20e3",
		".\ufe0f -\ufe0e é\ufe0f":  ".<U+FE0F> -<U+FE0E> é<U+FE0F>",
		"日\ufe0f 本\ufe03":          "日<U+FE0F> 本<U+FE03>",
		"5\u180b":                  "5<U+180B>",
		"م\u200c\u200d\u200c":      "م\u200c<U+200D><U+200C>",
		"א\u200e\u200f\u200e":      "א\u200e<U+200F><U+200E>",
		"a\u2028b\u2029":           "a<U+2028>b<U+2029>",
		"\u3164":                   "<U+3164>",
		"a\x1b[31m\x00\u009b":      "a<U+001B>[31m<U+0000><U+009B>",
		"-\u00ad-":                 "-<U+00AD>-",
		"\ufff9a\ufffab\ufffb":     "<U+FFF9>a<U+FFFA>b<U+FFFB>",
		"\u206a\u061c\u180e":       "<U+206A><U+061C><U+180E>",
		"\U0001d173\U0001bca0":     "<U+1D173><U+1BCA0>",
		"":                         "",
		"two\nlines\r\nand\ta tab": "two\nlines\r\nand\ta tab",
	} {
		got := visible.Text(in)
		if got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
		if again := visible.Text(got); again != got {
			t.Errorf("Text(%q) = %q the second time", got, again)
		}
	}
}

func TestTextKeepsNeededCharacters(t *testing.T) {
	for _, s := range []string{
		"👩\u200d❤\ufe0f\u200d👩 👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 👍🏽",
		"\U0001f3f4" + tags("gbeng") + "\U000e007f \U0001f3f4" + tags("gbsct") + "\U000e007f",
		"می\u200cخواهم", "क्\u200dष", "שלום\u200f!", "(\u200eabc)", "\u061c1\u061c",
		"ភាសា\u200bខ្មែរ", "Donau\u00addampf", "日本語", "Ünïcödé – “quotes” … €", "\u06dd12", "ᠮᠣ\u180bᠩ",
		"#\ufe0f\u20e3 *\ufe0e\u20e3 ©\ufe0f ™\ufe0e ☺\ufe0f ㊗\ufe0f 🅰\ufe0f 🖥\ufe0e",
		"嶲\ufe00 ≨\ufe00 0\ufe00 “\ufe00 ！\ufe01",
	} {
		if got := visible.Text(s); got != s {
			t.Errorf("Text(%q) = %q", s, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u202eb", "\U0001f3f4")
	f.Add(tags("gbeng"), "\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		got := visible.Text(a + b)
		if visible.Text(got) != got {
			t.Errorf("Text(%q) = %q is changed again", a+b, got)
		}
		if utf8.ValidString(a+b) && !utf8.ValidString(got) {
			t.Errorf("Text(%q) is not UTF-8", a+b)
		}
		if data, err := json.Marshal(a); err == nil && !json.Valid([]byte(visible.Text(string(data)))) {
			t.Errorf("the JSON of %q is none any more", a)
		}
		if strings.ContainsAny(got, "\u202e\u2066\ufeff\U000e0101") {
			t.Errorf("Text(%q) = %q hides something", a+b, got)
		}
	})
}

// TestTextKnowsEachCharacter checks that the quick path misses no character that the slow path
// would find behind another special character.
func TestTextKnowsEachCharacter(t *testing.T) {
	for r := rune(0); r < 0xe2000; r++ {
		if r == 0x20000 {
			r = 0xdf000 // nothing but letters between
		}
		if s := string(r); visible.Text(s) == s && visible.Text("\x00"+s) != "<U+0000>"+s && !joins(r) {
			t.Errorf("U+%04X is seen behind a special character only", r)
		}
	}
}

// joins reports whether a character may stand alone, and not in a run.
func joins(r rune) bool {
	return strings.ContainsRune("\u200e\u200f\u061c\u115f\u1160", r)
}

func BenchmarkText(b *testing.B) {
	s := strings.Repeat("The orders of last month, in €, were good. ", 300)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		visible.Text(s)
	}
}

func TestBlank(t *testing.T) {
	in := "Acme<U+200B> Corp sold 42 <U+2> <units>"
	if got := visible.Blank(in); got != "Acme         Corp sold 42 <U+2> <units>" || len(got) != len(in) {
		t.Errorf("Blank(%q) = %q", in, got)
	}
}
