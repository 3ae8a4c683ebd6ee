package httpapi_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/footnotehq/footnote/httpapi"
)

var update = flag.Bool("update", false, "regenerate the transcripts")

// TestTranscripts sends the requests of each file in order and compares the responses. $conversation in a
// request stands for the id in the previous response.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			api, _ := newAPI(t, func(o *httpapi.Options) {
				o.AllowOrigins = []string{"https://chat.example.org"}
				o.Now = func() time.Time { return time.Unix(1_767_225_600, 0) }
			})
			srv := serve(t, api)
			got := exchange(t, ar, srv.URL)
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := txtar.Format(ar); !bytes.Equal(txtar.Format(got), want) {
				t.Errorf("got\n%s\nwant\n%s", txtar.Format(got), want)
			}
		})
	}
}

// exchange plays the requests of a transcript and returns it with the responses.
func exchange(t *testing.T, ar *txtar.Archive, base string) *txtar.Archive {
	out := &txtar.Archive{Comment: ar.Comment}
	conversation := ""
	for _, f := range ar.Files {
		if f.Name != "request" {
			continue
		}
		resp := send(t, base, strings.ReplaceAll(string(f.Data), "$conversation", conversation))
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if id := resp.Header.Get("X-Conversation-Id"); id != "" {
			conversation = id
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "HTTP %d\n", resp.StatusCode)
		resp.Header.Del("Date")
		for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(resp.Header[name], ", "))
		}
		fmt.Fprintf(&b, "\n%s\n", body)
		out.Files = append(out.Files, f, txtar.File{Name: "response", Data: scrub(b.Bytes())})
	}
	return out
}

func send(t *testing.T, base, text string) *http.Response {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	line, rest, _ := strings.Cut(head, "\n")
	method, target, _ := strings.Cut(line, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, base+strings.TrimSpace(target),
		strings.NewReader(strings.TrimSuffix(body, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	h, err := textproto.NewReader(bufio.NewReader(strings.NewReader(rest + "\r\n\r\n"))).ReadMIMEHeader()
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header(h)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

var (
	randomID = regexp.MustCompile(`(chatcmpl-|conv_|run_|req_)[A-Z2-7]{26}`)
	twoTexts = regexp.MustCompile(
		`"\},"finish_reason":null\}\](,"usage":null)?\}\n\ndata: ` +
			`\{"id":"chatcmpl-X","object":"chat.completion.chunk","created":\d+,"model":"[^"]*",` +
			`"choices":\[\{"index":0,"delta":\{"content":"`)
	twoGrown = regexp.MustCompile(
		`"\}\n\nevent: delta\ndata: ` +
			`\{"run":"run_X","step":\d+,"attempt":\d+,"op":"grow","index":\d+,"kind":"[a-z_]+","text":"`)
)

// scrub removes what differs from run to run: ids, and how a text was split into chunks, which depends on
// timing.
func scrub(b []byte) []byte {
	b = randomID.ReplaceAll(b, []byte("${1}X"))
	role := []byte(`"delta":{"role":"assistant","content":""`)
	b = bytes.Replace(b, role, []byte("ROLE"), 1)
	b = twoTexts.ReplaceAll(b, nil)
	b = twoGrown.ReplaceAll(b, nil)
	return bytes.Replace(b, []byte("ROLE"), role, 1)
}
