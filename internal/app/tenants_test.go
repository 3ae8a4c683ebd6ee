package app

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/tool/own"
	"github.com/footnotehq/footnote/tool/search"
)

// TestTenants has six people of three organisations use the whole API at random and concurrently, over sources with
// the rows of all three. Every text in a row contains a word unique to its organisation, every row a number, and
// everything a person types a word unique to that person. None of these, and no id, may ever reach another tenant, or
// the model working for one.
//
// FOOTNOTE_TENANTS is the number of operations. FOOTNOTE_TENANTS_SEED repeats the operations of a run, except for
// their interleaving.
func TestTenants(t *testing.T) {
	operations, seed := 600, uint64(time.Now().UnixNano())
	if text := os.Getenv("FOOTNOTE_TENANTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		operations = n
	}
	if text := os.Getenv("FOOTNOTE_TENANTS_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("seed %d, %d operations", seed, operations)
	w := newTenantWorld(t, seed, operations >= 5000)
	var wg sync.WaitGroup
	for i, p := range w.people {
		share := operations / len(w.people)
		if i < operations%len(w.people) {
			share++
		}
		wg.Go(func() { w.live(p, share) })
	}
	wg.Wait()
	w.report()
}

// tenantWorld is a server, and the expected visibility of its data.
type tenantWorld struct {
	t       *testing.T
	server  *httptest.Server
	sources []string
	orgs    []tenantOrg
	people  []*tenant

	mu      sync.Mutex           // guards below
	owner   map[string]*tenant   // by conversation
	done    map[string]int       // operations by name
	status  map[int]int          // answers by status
	seen    map[string]int       // answers that contained words of the organisation's own rows
	hits    int                  // results from the cache
	asked   int                  // requests to the model
	bytes   int64                // bytes searched
	opened  map[*tenant][]string // existing conversations
	results map[*tenant][]string // stored results
}

// tenantOrg is an organisation: its rows contain word in their texts, and their ids begin with number.
type tenantOrg struct{ name, word, number string }

// tenant is a person; everything they type contains word.
type tenant struct {
	org       tenantOrg
	user      string
	key, word string
	rng       *rand.Rand
}

func newTenantWorld(t *testing.T, seed uint64, large bool) *tenantWorld {
	rng := rand.New(rand.NewPCG(seed, 1))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "bcdfghjklmnpqrstvwxz"[rng.IntN(20)]
		}
		return string(b)
	}
	w := &tenantWorld{
		t: t, owner: map[string]*tenant{}, done: map[string]int{}, status: map[int]int{}, seen: map[string]int{},
		opened: map[*tenant][]string{}, results: map[*tenant][]string{},
	}
	var keys []config.Key
	for i, name := range []string{"acme", "globex", "initech"} {
		o := tenantOrg{name, "k" + word(9), strconv.Itoa(511+111*i) + "000000"}
		w.orgs = append(w.orgs, o)
		for j := range 2 {
			p := &tenant{
				org: o, user: fmt.Sprintf("user%d", j), key: "key-" + word(20), word: "u" + word(11),
				rng: rand.New(rand.NewPCG(seed, uint64(10+2*i+j))),
			}
			w.people = append(w.people, p)
			keys = append(keys, config.Key{
				Key: config.Secret(p.key), Org: o.name, User: p.user,
				Attributes: map[string]string{"sites": "north,south"}, Roles: [][]string{nil, {"admin"}}[j],
			})
		}
	}
	fake := modeltest.New(modeltest.Options{Key: "test", Rule: w.model, Keep: 1})
	base := fake.Start(t)
	filters := map[string]string{
		"deals":    "org = {org} AND site IN ({attributes.sites[]})",
		"products": "all",
		"totals":   "all",
	}
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, base, "test", "claude-sonnet-5"
		c.APIKeys = keys
		c.Sources = map[string]string{"lite": w.file("sqlite"), "crm": pgtest.Reader(t, w.rows("postgres")...)}
		c.Filters = map[string]map[string]string{"lite": filters}
		if duckdb.Available {
			c.Sources["duck"] = w.file("duckdb")
			c.Filters["duck"] = filters
		}
		for name := range c.Sources {
			c.Tools.Search = append(c.Tools.Search, search.Table{
				Name: name + "_deals", Source: name, Table: "deals", Key: "id", Title: []string{"customer"},
				Text: []string{"customer", "note"}, Limit: 20,
			})
			c.Tools.Own = append(c.Tools.Own, config.OwnTool{
				Name: name + "_of_product", Description: "Deals of a product.", Source: name,
				SQL:        "SELECT id, customer, amount FROM deals WHERE product_id = $1 ORDER BY id",
				Parameters: []own.Parameter{{Name: "product", Type: "integer", Description: "Its number."}},
			})
		}
		if large {
			c.Store, c.Redis = config.Secret(pgtest.Database(t)), config.Secret(redistest.New(t).URL())
		}
		w.sources = slices.Sorted(maps.Keys(c.Sources))
	})
	w.server = httptest.NewServer(g.api)
	t.Cleanup(w.server.Close)
	return w
}

// rows returns the statements that create the tables of a source, in the SQL of its engine.
func (w *tenantWorld) rows(engine string) []string {
	list := []string{
		`CREATE TABLE products (id integer PRIMARY KEY, name text NOT NULL)`,
		`INSERT INTO products VALUES (1, 'lamp'), (2, 'pen'), (3, 'desk')`,
		`CREATE TABLE deals (id bigint PRIMARY KEY, org text NOT NULL, site text NOT NULL, customer text NOT NULL, ` +
			`product_id integer NOT NULL, amount numeric(10,2) NOT NULL, note text, sold date NOT NULL)`,
		`CREATE TABLE secrets (id bigint, what text)`,
	}
	for i := range 30 {
		for k, o := range w.orgs {
			list = append(list, fmt.Sprintf(
				`INSERT INTO deals VALUES (%s%03d, '%s', '%s', '%s-customer-%d', %d, %d.25, 'note of %s %d', `+
					`'2024-%02d-%02d')`,
				o.number, i, o.name, []string{"north", "south"}[i%2], o.word, i%7, 1+i%3, (k+1)*100+i, o.word, i,
				1+i%12, 1+i%28))
			if i < 3 { // a site that no tenant may see
				list = append(list, fmt.Sprintf(
					`INSERT INTO deals VALUES (999%03d, '%s', 'hidden', 'hiddenrow', 1, 1, 'hiddenrow', '2024-01-01')`,
					i*10+k, o.name))
			}
			list = append(list, fmt.Sprintf(`INSERT INTO secrets VALUES (%d, 'hiddenrow')`, i))
		}
	}
	security := ""
	if engine == "postgres" {
		security = "WITH (security_invoker) "
		list = append(list, `ALTER TABLE deals ENABLE ROW LEVEL SECURITY`,
			`ALTER TABLE secrets ENABLE ROW LEVEL SECURITY`,
			`CREATE POLICY own ON deals USING (org = current_setting('footnote.org', true) AND site = ANY `+
				`(string_to_array(current_setting('footnote.sites', true), ',')))`)
	}
	return append(list, `CREATE VIEW totals `+security+
		`AS SELECT customer, sum(amount) AS total, count(*) AS n FROM deals GROUP BY customer`)
}

func (w *tenantWorld) file(engine string) string {
	path := filepath.Join(w.t.TempDir(), "deals."+engine)
	db, err := sql.Open(engine, path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	for _, s := range w.rows(engine) {
		if _, err := db.Exec(s); err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

var wanted = regexp.MustCompile(`call (\w+) (\{.*\})`)

// model executes the question's instructions, reports the result, and checks what it was given to read.
func (w *tenantWorld) model(r modeltest.Request) modeltest.Reply {
	body := string(r.Body)
	var of *tenant
	for _, p := range w.people {
		if strings.Contains(body, p.word) {
			of = p
			break
		}
	}
	w.mu.Lock()
	w.asked++
	w.mu.Unlock()
	if of == nil {
		w.t.Errorf("a model request names no tenant: %.300s", body)
		return modeltest.Say("Nobody.")
	}
	w.clean(of, "what the model reads", body)
	if results := r.Results(); len(results) > 0 {
		text := results[0].Content
		return modeltest.Say("It says " + text[:min(len(text), 400)])
	}
	if m := wanted.FindStringSubmatch(r.LastUserText()); m != nil && r.HasTool(m[1]) {
		return modeltest.Use(m[1], m[2])
	}
	return modeltest.Say("About " + of.word)
}

var conversationID = regexp.MustCompile(`conv_[A-Za-z0-9]+`)

// clean reports data of other tenants in a text that a person receives.
func (w *tenantWorld) clean(p *tenant, what, text string) {
	found := func(kind, word string) {
		at := strings.Index(text, word)
		w.t.Errorf("%s of %s/%s has %s %q: …%s…", what, p.org.name, p.user, kind, word,
			text[max(0, at-200):min(len(text), at+200)])
	}
	for _, o := range w.orgs {
		if o != p.org && strings.Contains(text, o.word) {
			found("the rows of "+o.name, o.word)
		}
		if o != p.org && strings.Contains(text, o.number) {
			found("the numbers of "+o.name, o.number)
		}
	}
	if strings.Contains(text, "hiddenrow") {
		found("rows of nobody", "hiddenrow")
	}
	isUsage := strings.HasPrefix(what, "GET /api/usage/") // administrators see their own people
	for _, other := range w.people {
		if isUsage && other.org == p.org && p.user == "user1" {
			continue
		}
		if other != p && strings.Contains(text, other.word) {
			found("the words of "+other.org.name+"/"+other.user, other.word)
		}
		if other != p && strings.Contains(text, other.key) {
			found("the key of "+other.org.name+"/"+other.user, other.key)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += int64(len(text))
	if strings.Contains(text, p.org.word) {
		w.seen[p.org.name]++
	}
	w.hits += strings.Count(text, `"cache_hit":true`)
	for _, id := range conversationID.FindAllString(text, -1) {
		if owner := w.owner[id]; owner != nil && owner != p && !(isUsage && owner.org == p.org && p.user == "user1") {
			w.t.Errorf("%s of %s/%s has the conversation %s of %s/%s", what, p.org.name, p.user, id, owner.org.name,
				owner.user)
		}
	}
}

// send makes a request as a person and checks everything in the response. body is JSON, or a form to send unchanged.
func (w *tenantWorld) send(p *tenant, method, target string, body any, header ...string) (int, string) {
	var data []byte
	var err error
	if form, ok := body.(*bytes.Buffer); ok {
		data = form.Bytes()
	} else if body != nil {
		if data, err = json.Marshal(body); err != nil {
			w.t.Error(err)
		}
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.server.URL+target, bytes.NewReader(data))
	if err != nil {
		w.t.Error(err)
		return 0, ""
	}
	r.Host = "localhost:8787"
	r.Header.Set("Authorization", "Bearer "+p.key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Errorf("%s %s: %v", method, target, err)
		return 0, ""
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Errorf("%s %s: %v", method, target, err)
	}
	text := string(answer)
	received := fmt.Sprint(res.Header) + unzipped(w.t, text)
	if rest, ok := strings.CutPrefix(target, "/api/sources/"); ok && res.StatusCode == http.StatusNotFound {
		name, _, _ := strings.Cut(rest, "/")
		received = strings.ReplaceAll(received, name, "") // an error repeats the requested name
	}
	w.clean(p, method+" "+target, received)
	w.mu.Lock()
	w.status[res.StatusCode]++
	w.mu.Unlock()
	if res.StatusCode >= 500 && res.StatusCode != http.StatusServiceUnavailable &&
		res.StatusCode != http.StatusGatewayTimeout {
		w.t.Errorf("%s %s %.300s: %d %.300s", method, target, data, res.StatusCode, text)
	}
	return res.StatusCode, text
}

// pick returns a random element.
func pick[T any](p *tenant, list ...T) T { return list[p.rng.IntN(len(list))] }

// live runs a number of random operations.
func (w *tenantWorld) live(p *tenant, operations int) {
	names := slices.Sorted(maps.Keys(tenantOps))
	var weighted []string
	for _, name := range names {
		for range tenantOps[name].weight {
			weighted = append(weighted, name)
		}
	}
	for range operations {
		if w.t.Context().Err() != nil || w.t.Failed() {
			return
		}
		name := pick(p, weighted...)
		tenantOps[name].do(w, p)
		w.mu.Lock()
		w.done[name]++
		w.mu.Unlock()
	}
}

// own returns one of the person's conversations, and begins one if there is none.
func (w *tenantWorld) own(p *tenant) string {
	w.mu.Lock()
	list := slices.Clone(w.opened[p])
	w.mu.Unlock()
	if len(list) == 0 {
		return w.begin(p, pick(p, w.sources...))
	}
	return pick(p, list...)
}

// foreign returns another person's conversation, or "" if there is none yet.
func (w *tenantWorld) foreign(p *tenant) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range p.rng.Perm(len(w.people)) {
		if other := w.people[i]; other != p && len(w.opened[other]) > 0 {
			return pick(p, w.opened[other]...)
		}
	}
	return ""
}

// begin asks a first question and waits for its answer.
func (w *tenantWorld) begin(p *tenant, source string) string {
	status, body := w.send(p, "POST", "/api/conversations", in("text", p.question(source), "sources", []string{source}))
	var opened taken
	if err := json.Unmarshal([]byte(body), &opened); status != http.StatusAccepted || err != nil {
		w.t.Errorf("a new conversation: %d %s", status, body)
		return ""
	}
	w.mu.Lock()
	w.owner[opened.Conversation] = p
	w.mu.Unlock()
	w.settle(p, opened.Conversation)
	w.mu.Lock()
	w.opened[p] = append(w.opened[p], opened.Conversation)
	w.mu.Unlock()
	return opened.Conversation
}

var resultName = regexp.MustCompile(`"id":"(r[0-9]+)"`)

// settle follows a run to its end and records its results.
func (w *tenantWorld) settle(p *tenant, id string) {
	w.send(p, "GET", "/api/conversations/"+id+"/events", nil, "Accept", "text/event-stream")
	_, log := w.send(p, "GET", "/api/conversations/"+id+"/events", nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range resultName.FindAllStringSubmatch(log, -1) {
		if name := id + "." + m[1]; !slices.Contains(w.results[p], name) {
			w.results[p] = append(w.results[p], name)
		}
	}
}

// anyResult returns a result of this user or of another one.
func (w *tenantWorld) anyResult(p *tenant) (id string, own bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.results[p]) > 0 && p.rng.IntN(4) > 0 {
		return pick(p, w.results[p]...), true
	}
	for _, i := range p.rng.Perm(len(w.people)) {
		if other := w.people[i]; other != p && len(w.results[other]) > 0 {
			return pick(p, w.results[other]...), false
		}
	}
	return "conv_none.r1", false
}

// question returns a text that makes the model call a tool.
func (p *tenant) question(source string) string {
	tool, input := "run_query", in("sql", p.statement(), "source", source)
	switch p.rng.IntN(8) {
	case 0:
		tool, input = "get_column_stats",
			in("table", pick(p, "deals", "totals", "secrets", "products"), "column",
				pick(p, "customer", "amount", "id", "note", "n"), "source", source)
	case 1:
		tool, input = "get_value_distribution",
			in("table", pick(p, "deals", "secrets"), "column", pick(p, "customer", "amount", "site", "what"), "source",
				source)
	case 2:
		tool, input = pick(p, "list_tables", "describe_table"),
			in("table", pick(p, "deals", "totals", "secrets"), "source", source)
		if tool == "list_tables" {
			delete(input, "table")
		}
	case 3:
		tool, input = source+"_of_product", in("product", 1+p.rng.IntN(3))
	case 4:
		tool, input = "search_database",
			in("query", pick(p, "note", "customer", "hiddenro", "note of"), "table", source+"_deals")
	}
	data, _ := json.Marshal(input) // texts and numbers only
	return fmt.Sprintf("%s wants: call %s %s", p.word, tool, data)
}

// tenantStatements request rows, both legitimately and otherwise.
var tenantStatements = []string{
	"SELECT * FROM deals ORDER BY id", "SELECT count(*), min(customer), max(customer), min(id), max(id) FROM deals",
	"SELECT customer, total FROM totals ORDER BY total DESC",
	"SELECT p.name, count(*), sum(d.amount) FROM deals d JOIN products p ON p.id = d.product_id GROUP BY p.name " +
		"ORDER BY 1", "SELECT DISTINCT org FROM deals",
	"SELECT * FROM deals WHERE org = 'globex' OR org = 'acme' OR org = 'initech'",
	"SELECT * FROM deals WHERE NOT (site = 'north')", "SELECT * FROM deals WHERE amount > 150 ORDER BY amount LIMIT 7",
	"WITH d AS (SELECT * FROM deals) SELECT customer, count(*) FROM d GROUP BY customer",
	"SELECT a.customer, b.note FROM deals a, deals b WHERE a.id = b.id",
	"SELECT * FROM main.deals", "SELECT * FROM public.deals",
	"WITH deals AS (SELECT * FROM main.deals) SELECT * FROM deals",
	"WITH deals AS (SELECT * FROM public.deals) SELECT * FROM deals",
	"SELECT * FROM main.totals", "SELECT * FROM secrets", "SELECT * FROM main.secrets", "SELECT count(*) FROM secrets",
	"SELECT * FROM sqlite_master", "SELECT * FROM sqlite_stat1", "SELECT * FROM temp.deals",
	"SELECT * FROM duckdb_tables()", "SELECT * FROM information_schema.tables", "SELECT * FROM pg_stats",
	"SELECT * FROM pg_catalog.pg_class", "SUMMARIZE deals", "SUMMARIZE secrets",
	"PIVOT deals ON customer USING sum(amount)",
	"EXPLAIN SELECT * FROM deals", "EXPLAIN ANALYZE SELECT * FROM deals", "SELECT CAST(customer AS INTEGER) FROM deals",
	"SELECT id FROM deals WHERE CAST(note AS INTEGER) > 0", "SELECT 1 / (amount - 201.25) FROM deals",
	"SELECT CAST(note AS DATE) FROM deals WHERE site = 'hidden'", "SELECT rowid, * FROM deals",
	"SELECT string_agg(customer, ',') FROM deals", "SELECT group_concat(customer) FROM deals",
	"SELECT * FROM deals UNION ALL SELECT * FROM main.deals",
	"SELECT set_config('footnote.org', 'globex', true)", "SET footnote.org = 'acme'",
	"SELECT current_setting('footnote.org')", "SELECT * FROM query('SELECT * FROM main.deals')",
	"SELECT * FROM read_csv('deals.duckdb')",
	"SELECT nothing FROM deals", "SELECT * FROM nothing",
	"SELECT customer FROM deals GROUP BY 1 HAVING abs(CASE WHEN customer LIKE '%customer-0' THEN 1 ELSE " +
		"-9223372036854775807 - 2 END) > 0", "SELEC", "DELETE FROM deals",
}

func (p *tenant) statement() string {
	s := pick(p, tenantStatements...)
	if p.rng.IntN(4) == 0 {
		s += " -- " + p.word
	}
	return s
}

// tenantOp is an operation of the test, with its relative frequency.
type tenantOp struct {
	weight int
	do     func(w *tenantWorld, p *tenant)
}

var tenantOps = map[string]tenantOp{
	"query": {20, func(w *tenantWorld, p *tenant) {
		w.send(p, "POST", "/api/sources/"+pick(p, w.sources...)+"/query", in("sql", p.statement()))
	}},
	"query again in a conversation": {6, func(w *tenantWorld, p *tenant) {
		id := w.own(p)
		status, body := w.send(p, "POST", "/api/sources/"+pick(p, w.sources...)+"/query",
			in("sql", p.statement(), "conversation", id))
		var out struct{ Result struct{ ID string } }
		if err := json.Unmarshal([]byte(body), &out); status == http.StatusOK && err == nil && out.Result.ID != "" {
			w.mu.Lock()
			w.results[p] = append(w.results[p], out.Result.ID)
			w.mu.Unlock()
		}
	}},
	"ask": {8, func(w *tenantWorld, p *tenant) { w.begin(p, pick(p, w.sources...)) }},
	"ask on": {8, func(w *tenantWorld, p *tenant) {
		id := w.own(p)
		w.send(p, "POST", "/api/conversations/"+id+"/turns", in("text", p.question(pick(p, w.sources...))))
		w.settle(p, id)
	}},
	"ask at the other protocols": {3, func(w *tenantWorld, p *tenant) {
		source := pick(p, w.sources...)
		if p.rng.IntN(2) == 0 {
			w.send(p, "POST", "/v1/chat/completions",
				in("model", "analyst", "messages", []map[string]any{in("role", "user", "content", p.question(source))}))
			return
		}
		_, body := w.send(p, "POST", "/api/chat-v2", in("message", p.question(source)))
		if id := conversationID.FindString(body); id != "" {
			w.mu.Lock()
			if w.owner[id] == nil {
				w.owner[id] = p
				w.opened[p] = append(w.opened[p], id)
			}
			w.mu.Unlock()
		}
	}},
	"page of a result": {10, func(w *tenantWorld, p *tenant) {
		id, own := w.anyResult(p)
		w.expect(p, own, "GET", fmt.Sprintf("/api/results/%s?offset=%d&limit=%d", id, p.rng.IntN(40), 1+p.rng.IntN(50)),
			nil)
	}},
	"export a result": {8, func(w *tenantWorld, p *tenant) {
		id, own := w.anyResult(p)
		w.expect(p, own, "GET", "/api/results/"+id+"?format="+pick(p, "csv", "xlsx", "json", "arrow"), nil)
	}},
	"list": {4, func(w *tenantWorld, p *tenant) {
		w.send(p, "GET", fmt.Sprintf("/api/conversations?limit=%d", 1+p.rng.IntN(200)), nil)
	}},
	"search": {5, func(w *tenantWorld, p *tenant) {
		other := pick(p, w.people...)
		w.send(p, "GET", "/api/conversations?q="+url.QueryEscape(pick(p, other.word, other.org.word, "wants",
			"call run_query", "About", "%", "_")), nil)
	}},
	"read a conversation": {8, func(w *tenantWorld, p *tenant) {
		w.send(p, "GET", "/api/conversations/"+w.own(p)+pick(p, "", "/events", "/events?view=seed", "/messages",
			"/export?format=html", "/events?format=jsonl"), nil)
	}},
	"read another's conversation": {6, func(w *tenantWorld, p *tenant) {
		if id := w.foreign(p); id != "" {
			w.expect(p, false, "GET",
				"/api/conversations/"+id+pick(p, "", "/events", "/events?view=seed", "/messages", "/export?format=html",
					"/workspace"), nil)
		}
	}},
	"change another's conversation": {4, func(w *tenantWorld, p *tenant) {
		id := w.foreign(p)
		if id == "" {
			return
		}
		switch p.rng.IntN(6) {
		case 0:
			w.expect(p, false, "DELETE", "/api/conversations/"+id, nil)
		case 1:
			w.expect(p, false, "PATCH", "/api/conversations/"+id, in("title", p.word))
		case 2:
			w.expect(p, false, "POST", "/api/conversations/"+id+"/stop", in())
		case 3:
			w.expect(p, false, "POST", "/api/conversations/"+id+"/turns", in("text", p.question(pick(p, w.sources...))))
		case 4:
			w.expect(p, false, "POST", "/api/sources/"+w.sources[0]+"/query", in("sql", "SELECT 1", "conversation", id))
		case 5:
			w.expect(p, false, "POST", "/api/feedback", in("conversation", id, "seq", 5, "good", true, "words", p.word))
		}
	}},
	"feedback": {2, func(w *tenantWorld, p *tenant) {
		w.send(p, "POST", "/api/feedback",
			in("conversation", w.own(p), "seq", 1+p.rng.IntN(12), "good", p.rng.IntN(2) == 0, "words", p.word))
	}},
	"rename": {1, func(w *tenantWorld, p *tenant) {
		w.send(p, "PATCH", "/api/conversations/"+w.own(p), in("title", "Of "+p.word))
	}},
	"delete": {2, func(w *tenantWorld, p *tenant) {
		id := w.own(p)
		w.mu.Lock()
		w.opened[p] = slices.DeleteFunc(w.opened[p], func(s string) bool { return s == id })
		w.results[p] = slices.DeleteFunc(w.results[p], func(s string) bool { return strings.HasPrefix(s, id+".") })
		w.mu.Unlock()
		if status, body := w.send(p, "DELETE", "/api/conversations/"+id, nil); status != http.StatusNoContent {
			w.t.Errorf("delete %s: %d %s", id, status, body)
		}
		w.expect(p, false, "GET", "/api/conversations/"+id+"/events", nil)
	}},
	"suggestions": {2, func(w *tenantWorld, p *tenant) {
		w.send(p, "GET", "/api/suggestions?source="+pick(p, w.sources...), nil)
	}},
	"look at a table": {6, func(w *tenantWorld, p *tenant) {
		source, table := pick(p, w.sources...), pick(p, "deals", "totals", "products", "secrets")
		switch p.rng.IntN(4) {
		case 0:
			w.send(p, "GET", "/api/sources/"+source+"/samples?limit=50&table="+table, nil)
		case 1:
			w.send(p, "GET", "/api/sources/"+source+"/distribution?table="+table+"&column="+pick(p, "customer",
				"amount", "org", "site", "note", "id", "sold", "what", "n"), nil)
		case 2:
			w.send(p, "GET", "/api/sources/"+source+"/schema", nil)
		case 3:
			w.send(p, "GET", "/api/sources", nil)
		}
	}},
	"look around": {2, func(w *tenantWorld, p *tenant) {
		w.send(p, "GET", pick(p, "/api/usage", "/api/session", "/api/assistants", "/v1/models", "/api/openapi.yaml",
			"/api/nothing"), nil)
	}},
	"usage of the organisation": {2, func(w *tenantWorld, p *tenant) {
		other := pick(p, w.people...)
		status, body := w.send(p, "GET",
			"/api/usage/"+pick(p, "people?format=json", "people?format=csv", "questions?before=")+pick(p, "",
				"&user="+other.user, "&org="+other.org.name), nil)
		if admin := p.user == "user1"; admin == (status == http.StatusForbidden) {
			w.t.Errorf("the usage of the organisation for %s/%s: %d %.200s", p.org.name, p.user, status, body)
		}
	}},
	"upload": {1, func(w *tenantWorld, p *tenant) { w.upload(p) }},
}

// expect sends a request about something, and checks that it exists for the caller or does not.
func (w *tenantWorld) expect(p *tenant, there bool, method, target string, body any) {
	status, text := w.send(p, method, target, body)
	if (status == http.StatusNotFound) == there || !there && !strings.Contains(text, "There is no such") {
		w.t.Errorf("%s %s by %s/%s: %d %.200s, there is one: %v", method, target, p.org.name, p.user, status, text,
			there)
	}
}

// upload uploads a file, asks about it, lets others ask about it, and removes it.
func (w *tenantWorld) upload(p *tenant) {
	if !duckdb.Available {
		return
	}
	form := &bytes.Buffer{}
	m := multipart.NewWriter(form)
	part, err := m.CreateFormFile("file", p.word+".csv")
	if err == nil {
		_, err = fmt.Fprintf(part, "name,n\n%s,1\nx,2\n", p.word)
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		w.t.Error(err)
		return
	}
	status, body := w.send(p, "POST", "/api/sources", form, "Content-Type", m.FormDataContentType())
	var out struct{ Name string }
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusCreated {
		w.t.Errorf("upload: %d %s", status, body)
		return
	}
	w.send(p, "GET", "/api/sources", nil)
	target := "/api/sources/" + out.Name
	for _, other := range w.people {
		if other != p {
			if status, _ := w.send(other, "GET", target+"/schema", nil); status != http.StatusNotFound {
				w.t.Errorf("%s/%s sees the upload of %s/%s: %d", other.org.name, other.user, p.org.name, p.user, status)
			}
		}
	}
	w.send(p, "GET", target+"/schema", nil)
	if status, body := w.send(p, "DELETE", target, nil); status != http.StatusNoContent {
		w.t.Errorf("remove an upload: %d %s", status, body)
	}
}

// report prints what happened, and fails if too little did.
func (w *tenantWorld) report() {
	w.mu.Lock() // runs may still be going on
	defer w.mu.Unlock()
	total := 0
	for _, n := range w.done {
		total += n
	}
	w.t.Logf("%d operations: %v", total, w.done)
	w.t.Logf("statuses %v; the model was asked %d times; %d cache hits; own rows seen %v; %d MB searched", w.status,
		w.asked, w.hits, w.seen, w.bytes>>20)
	for _, o := range w.orgs {
		if w.seen[o.name] == 0 && !w.t.Failed() {
			w.t.Errorf("%s saw no row of its own: the test shows nothing", o.name)
		}
	}
}
