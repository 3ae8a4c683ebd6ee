// Package bigquery implements a source over BigQuery, through its REST API. Before a statement runs, a dry run must
// show that it is a SELECT, and that it reads no more bytes than it may. BigQuery itself then refuses to bill more than
// that. A service account signs in with its key.
package bigquery

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse"
)

const (
	example   = "bigquery://project/dataset,dataset?key=/path/key.json&location=EU&max_gib=100&usd_per_tib=6.25"
	maxGiB    = 100
	usdPerTiB = 6.25
	leastRead = 10 << 20 // bytes that each table costs at least
	pageRows  = 10_000
)

var parameters = []string{"key", "location", "max_gib", "usd_per_tib", "endpoint"}

// Engine returns BigQuery for the program's list of engines.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect: Dialect,
		Schemes: []string{"bigquery"},
		Hosts: func(address string) []string {
			a, err := warehouse.ParseAddress("", address, example, parameters...)
			if err != nil {
				return nil
			}
			return append(a.Contacts(apiHost), tokenHost)
		},
		Proof: source.Proof{Strength: source.Gated, TestedOn: source.Imitation},
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			s, err := connect(name, address)
			if err != nil {
				return nil, err
			}
			src, err := warehouse.Open(ctx, describe(s.project, s.datasets), s, o.Limits, o.Hiding)
			if err != nil {
				return nil, source.Named(name, err)
			}
			return src, nil
		},
	}
}

const (
	apiHost   = "bigquery.googleapis.com"
	tokenHost = "oauth2.googleapis.com"
)

// service implements warehouse.Service and warehouse.Pricer.
type service struct {
	client            *warehouse.Client
	account           *account
	project, location string
	datasets          []string
	maxBytes          int64
	usdPerTiB         float64
}

var (
	isProject = regexp.MustCompile(`^[a-z][a-z0-9-]{1,60}[a-z0-9]$`)
	isDataset = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
)

func connect(name, address string) (*service, error) {
	a, err := warehouse.ParseAddress(name, address, example, parameters...)
	if err != nil {
		return nil, err
	}
	s := &service{project: a.Hostname(), location: a.Get("location"), maxBytes: maxGiB << 30, usdPerTiB: usdPerTiB}
	part, ok := a.Parts(1)
	if !ok || a.User != nil || !isProject.MatchString(s.project) || a.Get("key") == "" {
		return nil, warehouse.Invalid(name, "it needs a project, a dataset and a key, and no password: %s", example)
	}
	s.datasets = strings.Split(part[0], ",")
	for _, d := range s.datasets {
		if !isDataset.MatchString(d) {
			return nil, warehouse.Invalid(name, "%.60q is no name of a dataset", d)
		}
	}
	if v := a.Get("max_gib"); v != "" {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n <= 0 {
			return nil, warehouse.Invalid(name, "its parameter max_gib must be a whole number above 0")
		}
		s.maxBytes = n << 30
	}
	if v := a.Get("usd_per_tib"); v != "" {
		if s.usdPerTiB, err = strconv.ParseFloat(v, 64); err != nil || s.usdPerTiB < 0 || s.usdPerTiB > 1e6 {
			return nil, warehouse.Invalid(name, "its parameter usd_per_tib must be a price such as 6.25")
		}
	}
	if s.account, err = readAccount(name, a.Get("key")); err != nil {
		return nil, err
	}
	s.client, err = warehouse.NewClient(a.Endpoint(apiHost), func(ctx context.Context, h http.Header) error {
		token, err := s.account.token(ctx)
		h.Set("Authorization", "Bearer "+token)
		return err
	})
	if err != nil {
		return nil, warehouse.Invalid(name, "%v", err)
	}
	return s, nil
}

// Close implements warehouse.Service.
func (s *service) Close() {
	s.client.Close()
	s.account.client.Close()
}

// job is a statement that runs, or would run.
type job struct {
	Reference     *reference    `json:"jobReference,omitempty"`
	Configuration configuration `json:"configuration"`
	Statistics    *statistics   `json:"statistics,omitempty"`
	Error         *fault        `json:"error,omitempty"`
	Status        *struct {
		Result *reason `json:"errorResult"`
	} `json:"status,omitempty"`
}

type reference struct {
	Project  string `json:"projectId"`
	ID       string `json:"jobId,omitempty"`
	Location string `json:"location,omitempty"`
}

type configuration struct {
	DryRun  bool   `json:"dryRun,omitempty"`
	Timeout string `json:"jobTimeoutMs,omitempty"`
	Query   query  `json:"query"`
}

type query struct {
	SQL            string  `json:"query"`
	LegacySQL      bool    `json:"useLegacySql"`
	MaxBytes       string  `json:"maximumBytesBilled"`
	DefaultDataset dataset `json:"defaultDataset"`
}

type dataset struct {
	Project string `json:"projectId"`
	ID      string `json:"datasetId"`
}

type statistics struct {
	Bytes string `json:"totalBytesProcessed"`
	Query struct {
		Type string `json:"statementType"`
	} `json:"query"`
}

type fault struct {
	Message string   `json:"message"`
	Errors  []reason `json:"errors"`
}

type reason struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func (s *service) path(parts ...string) string {
	return "/bigquery/v2/projects/" + url.PathEscape(s.project) + "/" + strings.Join(parts, "/")
}

func (s *service) job(sql string) job {
	return job{
		Reference: &reference{Project: s.project, Location: s.location},
		Configuration: configuration{Query: query{
			SQL: sql, MaxBytes: strconv.FormatInt(s.maxBytes, 10),
			DefaultDataset: dataset{Project: s.project, ID: s.datasets[0]},
		}},
	}
}

// insert starts a job, or tries one.
func (s *service) insert(ctx context.Context, j job) (out job, err error) {
	body, err := json.Marshal(j)
	if err != nil {
		return job{}, err
	}
	status, err := s.client.JSON(ctx, warehouse.Request{
		Method: http.MethodPost, Path: s.path("jobs"), Body: body,
		Header: http.Header{"Content-Type": {"application/json"}},
	}, &out)
	switch {
	case err != nil:
		return job{}, err
	case status != http.StatusOK:
		return job{}, s.explain(status, out.Error)
	case out.Status != nil && out.Status.Result != nil:
		return job{}, s.explainReason(*out.Status.Result)
	}
	return out, nil
}

// dryRun returns what a statement is, and how many bytes it reads.
func (s *service) dryRun(ctx context.Context, sql string) (kind string, bytes int64, err error) {
	j := s.job(sql)
	j.Configuration.DryRun = true
	j, err = s.insert(ctx, j)
	if err != nil {
		return "", 0, err
	}
	if j.Statistics != nil {
		kind = j.Statistics.Query.Type
		bytes, err = strconv.ParseInt(j.Statistics.Bytes, 10, 64)
	}
	if kind == "" || err != nil {
		return "", 0, footnote.Errorf(footnote.DatabaseUnavailable, "The dry run of a statement says nothing about it.")
	}
	return kind, bytes, nil
}

// Run implements warehouse.Service. A write of the probe never runs: that its dry run succeeds says enough.
func (s *service) Run(ctx context.Context, st warehouse.Statement, to warehouse.Sink) error {
	kind, bytes, err := s.dryRun(ctx, st.SQL)
	switch {
	case err != nil:
		return err
	case kind != "SELECT" && st.Own:
		return nil
	case kind != "SELECT":
		return source.Refusef("Only a SELECT is allowed; for BigQuery, this is a statement of the kind %.40s.", kind)
	case bytes > s.maxBytes:
		return source.Limitf("The query would read %d GiB, but it may read %d. Select fewer columns, or filter on the "+
			"column that partitions the table.", bytes>>30, s.maxBytes>>30)
	}
	j := s.job(st.SQL)
	id := "footnote_" + rand.Text()
	j.Reference.ID = id
	j.Configuration.Timeout = strconv.Itoa(1000 * warehouse.Seconds(ctx, 60))
	if _, err = s.insert(ctx, j); err == nil {
		err = s.read(ctx, id, st, to)
	}
	if err != nil {
		s.stop(ctx, id)
	}
	return err
}

// results is a page of rows.
type results struct {
	Complete bool   `json:"jobComplete"`
	Token    string `json:"pageToken"`
	Schema   struct {
		Fields []field `json:"fields"`
	} `json:"schema"`
	Rows  []value `json:"rows"`
	Error *fault  `json:"error"`
}

// read waits for the end of a job and passes on its rows.
func (s *service) read(ctx context.Context, id string, st warehouse.Statement, to warehouse.Sink) error {
	q := url.Values{
		"timeoutMs": {"1000"}, "maxResults": {strconv.Itoa(pageRows)}, "formatOptions.useInt64Timestamp": {"true"},
	}
	if st.Rows > 0 {
		q.Set("maxResults", strconv.Itoa(min(st.Rows+1, pageRows)))
	}
	if s.location != "" {
		q.Set("location", s.location)
	}
	var page results
	ask := func() (bool, error) {
		page = results{}
		r := warehouse.Request{Method: http.MethodGet, Path: s.path("queries", id), Query: q}
		status, err := s.client.JSON(ctx, r, &page)
		if err == nil && status != http.StatusOK {
			err = s.explain(status, page.Error)
		}
		return page.Complete, err
	}
	if err := warehouse.Poll(ctx, ask); err != nil {
		return err
	}
	fields := page.Schema.Fields
	to.Columns(columns(fields))
	for {
		for _, r := range page.Rows {
			row, err := cells(fields, r)
			if err != nil {
				return footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database sent a row that cannot be read.")
			}
			if err := to.Row(row); err != nil {
				return err
			}
		}
		if page.Token == "" || page.Token == q.Get("pageToken") {
			return nil
		}
		q.Set("pageToken", page.Token)
		if _, err := ask(); err != nil {
			return err
		}
	}
}

// stop asks for the end of a job. One that has ended, or never began, ignores it.
func (s *service) stop(ctx context.Context, id string) {
	ctx, cancel := warehouse.Stopping(ctx)
	defer cancel()
	r := warehouse.Request{Method: http.MethodPost, Path: s.path("jobs", id, "cancel")}
	if s.location != "" {
		r.Query = url.Values{"location": {s.location}}
	}
	if resp, err := s.client.Do(ctx, r); err == nil {
		_ = resp.Body.Close()
	}
}

func (s *service) explain(status int, f *fault) error {
	if f == nil {
		return s.client.Fault(status, "")
	}
	r := reason{Message: f.Message}
	if len(f.Errors) > 0 {
		r.Reason = f.Errors[0].Reason
	}
	if status == http.StatusUnauthorized || status >= 500 {
		return s.client.Fault(status, f.Message)
	}
	return s.explainReason(r)
}

func (s *service) explainReason(r reason) error {
	message := s.client.Clean(r.Message)
	switch r.Reason {
	case "accessDenied":
		return source.Refusef("%s", message)
	case "bytesBilledLimitExceeded", "resourcesExceeded", "responseTooLarge", "billingTierLimitExceeded":
		return source.Limitf("The query needed more than it may use: %s", message)
	case "stopped", "timeout":
		return &source.Error{
			Kind: source.Limited, TimedOut: r.Reason == "timeout", Reason: "The query was stopped: " + message,
		}
	case "backendError", "internalError", "rateLimitExceeded", "quotaExceeded", "jobRateLimitExceeded":
		return footnote.Errorf(footnote.DatabaseUnavailable, "%s", message)
	}
	return source.Failf("%s", message)
}

// Excess implements warehouse.Service. The API does not list the rights of the account; the writes that are tried tell.
func (s *service) Excess(context.Context) ([]string, error) { return nil, nil }

// Bills implements source.Biller.
func (s *service) Bills() bool { return s.usdPerTiB > 0 }

// Estimate implements warehouse.Pricer.
func (s *service) Estimate(ctx context.Context, st warehouse.Statement) (source.Estimate, error) {
	est := source.Estimate{Rows: -1, Bytes: -1}
	_, bytes, err := s.dryRun(ctx, st.SQL)
	if err != nil {
		return est, err
	}
	est.Bytes = bytes
	if bytes > 0 {
		est.MicroUSD = int64(float64(max(bytes, leastRead)) / (1 << 40) * s.usdPerTiB * 1e6)
		est.Why = fmt.Sprintf("reads %d MB", bytes>>20)
	}
	return est, nil
}
