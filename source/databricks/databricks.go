// Package databricks implements a source over a SQL warehouse of Databricks, through the Statement Execution API. A
// statement is submitted, asked for until it has ended, and read in chunks, with limits on its rows and bytes. Rows
// come in the answers themselves (INLINE): links to other hosts are refused.
package databricks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse"
)

const (
	example   = "databricks://token:TOKEN@host/catalog/schema?warehouse=ID"
	maxInline = 24 << 20 // bytes of a result; the API aborts statements with more than 25 MB
	path      = "/api/2.0/sql/statements"
)

// Engine returns Databricks for the program's list of engines.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect: Dialect,
		Schemes: []string{"databricks"},
		Hosts: func(address string) []string {
			a, err := warehouse.ParseAddress("", address, example, "warehouse", "tls")
			if err != nil {
				return nil
			}
			return []string{a.Hostname()}
		},
		Proof: source.Proof{Strength: source.Gated, TestedOn: source.Imitation},
		Open: func(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
			s, err := connect(name, address)
			if err != nil {
				return nil, err
			}
			src, err := warehouse.Open(ctx, describe(s.catalog, s.schema), s, o.Limits, o.Hiding)
			if err != nil {
				return nil, source.Named(name, err)
			}
			return src, nil
		},
	}
}

// service implements warehouse.Service.
type service struct {
	client                     *warehouse.Client
	catalog, schema, warehouse string
}

func connect(name, address string) (*service, error) {
	a, err := warehouse.ParseAddress(name, address, example, "warehouse", "tls")
	if err != nil {
		return nil, err
	}
	parts, ok := a.Parts(2)
	token, _ := a.User.Password()
	if !ok || a.User.Username() != "token" || token == "" || a.Get("warehouse") == "" {
		return nil, warehouse.Invalid(name, "it needs a token, a catalog, a schema and a warehouse: %s", example)
	}
	scheme := "https"
	if a.Get("tls") == "false" {
		scheme = "http"
	}
	client, err := warehouse.NewClient(scheme+"://"+a.Host, func(_ context.Context, h http.Header) error {
		h.Set("Authorization", "Bearer "+token)
		return nil
	}, token)
	if err != nil {
		return nil, warehouse.Invalid(name, "%v", err)
	}
	return &service{client: client, catalog: parts[0], schema: parts[1], warehouse: a.Get("warehouse")}, nil
}

// Close implements warehouse.Service.
func (s *service) Close() { s.client.Close() }

// request starts a statement.
type request struct {
	Statement   string `json:"statement"`
	WarehouseID string `json:"warehouse_id"`
	Catalog     string `json:"catalog"`
	Schema      string `json:"schema"`
	Disposition string `json:"disposition"`
	Format      string `json:"format"`
	WaitTimeout string `json:"wait_timeout"`
	RowLimit    int    `json:"row_limit,omitempty"`
	ByteLimit   int64  `json:"byte_limit"`
}

// answer is the state of a statement.
type answer struct {
	StatementID string `json:"statement_id"`
	Status      struct {
		State string `json:"state"`
		Error *struct {
			Code    string `json:"error_code"`
			Message string `json:"message"`
		} `json:"error"`
	} `json:"status"`
	Manifest struct {
		Schema struct {
			Columns []struct {
				Name string `json:"name"`
				Type string `json:"type_text"`
			} `json:"columns"`
		} `json:"schema"`
		Truncated bool `json:"truncated"`
	} `json:"manifest"`
	Result chunk `json:"result"`
	// Of a request that was not accepted.
	Code    string `json:"error_code"`
	Message string `json:"message"`
}

type chunk struct {
	Data          [][]json.RawMessage `json:"data_array"`
	Next          int                 `json:"next_chunk_index"`
	ExternalLinks []json.RawMessage   `json:"external_links"`
}

// Run implements warehouse.Service.
func (s *service) Run(ctx context.Context, st warehouse.Statement, to warehouse.Sink) error {
	r := request{
		Statement: st.SQL, WarehouseID: s.warehouse, Catalog: s.catalog, Schema: s.schema, Disposition: "INLINE",
		Format: "JSON_ARRAY", WaitTimeout: "0s", ByteLimit: maxInline,
	}
	if st.Rows > 0 {
		r.RowLimit = st.Rows + 1
	}
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	a, err := s.submit(ctx, body)
	if err != nil {
		return err
	}
	id := url.PathEscape(a.StatementID)
	err = s.read(ctx, st, id, a, to)
	if err != nil {
		s.stop(ctx, id)
	}
	return err
}

func (s *service) submit(ctx context.Context, body []byte) (a answer, err error) {
	ctx, cancel := warehouse.Submitting(ctx)
	defer cancel()
	err = s.ask(ctx, warehouse.Request{
		Method: http.MethodPost, Path: path, Body: body, Header: http.Header{"Content-Type": {"application/json"}},
	}, &a)
	if err == nil && a.StatementID == "" {
		err = footnote.Errorf(footnote.DatabaseUnavailable, "The database gave a statement no id.")
	}
	return a, err
}

func (s *service) ask(ctx context.Context, r warehouse.Request, a *answer) error {
	*a = answer{}
	status, err := s.client.JSON(ctx, r, a)
	if err == nil && status != http.StatusOK {
		err = s.client.Fault(status, strings.TrimSpace(a.Code+" "+a.Message))
	}
	return err
}

// read waits for the end of a statement and passes on its rows.
func (s *service) read(ctx context.Context, st warehouse.Statement, id string, a answer, to warehouse.Sink) error {
	err := warehouse.Poll(ctx, func() (bool, error) {
		if a.Status.State == "PENDING" || a.Status.State == "RUNNING" {
			err := s.ask(ctx, warehouse.Request{Method: http.MethodGet, Path: path + "/" + id}, &a)
			return false, err
		}
		return true, s.state(a)
	})
	if err != nil {
		return err
	}
	if st.Own && a.Manifest.Truncated {
		return footnote.Errorf(footnote.DatabaseUnavailable, "The catalog is larger than %d MB.", maxInline>>20)
	}
	cols := make([]warehouse.Column, len(a.Manifest.Schema.Columns))
	for i, c := range a.Manifest.Schema.Columns {
		cols[i] = warehouse.Column{Name: c.Name, Type: c.Type}
	}
	to.Columns(cols)
	for part, at := a.Result, 0; ; {
		if len(part.ExternalLinks) > 0 {
			return footnote.Errorf(footnote.DatabaseUnavailable, "The database sent links to another host.")
		}
		if err := pass(part, to); err != nil || part.Next == 0 {
			return err
		}
		if part.Next <= at {
			return footnote.Errorf(footnote.DatabaseUnavailable, "The database sent its chunks in a circle.")
		}
		at = part.Next
		r := warehouse.Request{Method: http.MethodGet, Path: path + "/" + id + "/result/chunks/" + strconv.Itoa(at)}
		part = chunk{}
		status, err := s.client.JSON(ctx, r, &part)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return s.client.Fault(status, "a chunk of the result cannot be read")
		}
	}
}

func pass(part chunk, to warehouse.Sink) error {
	for _, cells := range part.Data {
		row := make([]any, len(cells))
		for i, c := range cells {
			row[i] = c
		}
		if err := to.Row(row); err != nil {
			return err
		}
	}
	return nil
}

// state returns the error of a statement that has ended.
func (s *service) state(a answer) error {
	if a.Status.State == "SUCCEEDED" {
		return nil
	}
	code, message := "", "The query was stopped: "+a.Status.State
	if a.Status.Error != nil {
		code, message = a.Status.Error.Code, s.client.Clean(a.Status.Error.Message)
	}
	switch {
	case a.Status.State == "CANCELED" || a.Status.State == "CLOSED":
		return source.Limitf("%s.", message)
	case strings.Contains(message, "INSUFFICIENT_PERMISSIONS") || strings.Contains(message, "PERMISSION_DENIED"):
		return source.Refusef("%s", message)
	case code == "RESOURCE_EXHAUSTED" || code == "DEADLINE_EXCEEDED":
		return &source.Error{Kind: source.Limited, TimedOut: code == "DEADLINE_EXCEEDED", Reason: message}
	case code == "TEMPORARILY_UNAVAILABLE" || code == "SERVICE_UNDER_MAINTENANCE" || code == "INTERNAL_ERROR":
		return footnote.Errorf(footnote.DatabaseUnavailable, "%s", message)
	}
	return source.Failf("%s", message)
}

// stop ends a statement. One that has ended ignores it.
func (s *service) stop(ctx context.Context, id string) {
	ctx, cancel := warehouse.Stopping(ctx)
	defer cancel()
	resp, err := s.client.Do(ctx, warehouse.Request{Method: http.MethodPost, Path: path + "/" + id + "/cancel"})
	if err == nil {
		_ = resp.Body.Close()
	}
}

// Excess implements warehouse.Service.
func (s *service) Excess(ctx context.Context) ([]string, error) {
	var found []string
	err := warehouse.Collect(ctx, s, fmt.Sprintf(privileges, rules.Quote(s.catalog)), func(row []string) error {
		found = append(found, row[0])
		return nil
	})
	return found, err
}
