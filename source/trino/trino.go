// Package trino implements a source over Trino, through its REST interface: a statement is posted, and its rows come
// from one address after the other, each of which must be on the same host. Deleting the next address stops the
// statement.
package trino

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse"
)

const example = "trino://user:password@host:443/catalog/schema"

// Engine returns Trino for the program's list of engines.
func Engine() engines.Engine {
	return engines.Engine{
		Dialect: Dialect,
		Schemes: []string{"trino"},
		Hosts: func(address string) []string {
			a, err := warehouse.ParseAddress("", address, example, "tls")
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
	client          *warehouse.Client
	catalog, schema string
}

func connect(name, address string) (*service, error) {
	a, err := warehouse.ParseAddress(name, address, example, "tls")
	if err != nil {
		return nil, err
	}
	path, ok := a.Parts(2)
	user := a.User.Username()
	if !ok || user == "" {
		return nil, warehouse.Invalid(name, "it needs a user, and ends with a catalog and a schema: %s", example)
	}
	base, err := a.Base("443")
	if err != nil {
		return nil, warehouse.Invalid(name, "%v", err)
	}
	password, hasPassword := a.User.Password()
	basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	client, err := warehouse.NewClient(base, func(_ context.Context, h http.Header) error {
		if hasPassword {
			h.Set("Authorization", "Basic "+basic)
		}
		h.Set("X-Trino-User", user)
		return nil
	}, password, basic)
	if err != nil {
		return nil, warehouse.Invalid(name, "%v", err)
	}
	return &service{client: client, catalog: path[0], schema: path[1]}, nil
}

// Close implements warehouse.Service.
func (s *service) Close() { s.client.Close() }

// answer is a page of rows.
type answer struct {
	ID      string `json:"id"`
	NextURI string `json:"nextUri"`
	Columns []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"columns"`
	Data  [][]json.RawMessage `json:"data"`
	Error *fault              `json:"error"`
}

type fault struct {
	Message string `json:"message"`
	Name    string `json:"errorName"`
	Type    string `json:"errorType"`
}

// Run implements warehouse.Service.
func (s *service) Run(ctx context.Context, st warehouse.Statement, to warehouse.Sink) error {
	h := http.Header{}
	for k, v := range map[string]string{
		"X-Trino-Catalog": s.catalog, "X-Trino-Schema": s.schema, "X-Trino-Time-Zone": "UTC",
		"X-Trino-Source":  "footnote",
		"X-Trino-Session": fmt.Sprintf("query_max_run_time=%ds", warehouse.Seconds(ctx, 60)),
	} {
		h.Set(k, v)
	}
	page, err := s.submit(ctx, warehouse.Request{
		Method: http.MethodPost, Path: "/v1/statement", Header: h, Body: []byte(st.SQL),
	})
	if err != nil {
		return err
	}
	described := false
	err = warehouse.Poll(ctx, func() (done bool, err error) {
		for { // while rows arrive, there is nothing to wait for
			if page.Columns != nil && !described {
				described = true
				to.Columns(columns(page))
			}
			if err := pass(page, to); err != nil || page.NextURI == "" {
				return true, err
			}
			had := len(page.Data) > 0
			next := answer{NextURI: page.NextURI}
			if err := s.page(ctx, warehouse.Request{Method: http.MethodGet, Path: page.NextURI}, &next); err != nil {
				return true, err
			}
			if page = next; !had && len(page.Data) == 0 && page.NextURI != "" {
				return false, nil
			}
		}
	})
	if err == nil && !described {
		to.Columns(nil)
	}
	if err != nil && page.NextURI != "" {
		s.stop(ctx, page.NextURI)
	}
	return err
}

func (s *service) submit(ctx context.Context, r warehouse.Request) (page answer, err error) {
	ctx, cancel := warehouse.Submitting(ctx)
	defer cancel()
	err = s.page(ctx, r, &page)
	return page, err
}

// page reads a page. When it fails, out keeps the address at which the statement can be stopped.
func (s *service) page(ctx context.Context, r warehouse.Request, out *answer) error {
	var page answer
	status, err := s.client.JSON(ctx, r, &page)
	switch {
	case err != nil:
		return err
	case status != http.StatusOK:
		return s.client.Fault(status, "the status is "+http.StatusText(status))
	case page.Error != nil:
		return s.explain(*page.Error)
	}
	*out = page
	return nil
}

func columns(page answer) []warehouse.Column {
	cols := make([]warehouse.Column, len(page.Columns))
	for i, c := range page.Columns {
		cols[i] = warehouse.Column{Name: c.Name, Type: c.Type}
	}
	return cols
}

func pass(page answer, to warehouse.Sink) error {
	for _, cells := range page.Data {
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

// stop ends a statement. If that fails, the server ends it when nobody asks for its rows.
func (s *service) stop(ctx context.Context, next string) {
	ctx, cancel := warehouse.Stopping(ctx)
	defer cancel()
	if resp, err := s.client.Do(ctx, warehouse.Request{Method: http.MethodDelete, Path: next}); err == nil {
		_ = resp.Body.Close()
	}
}

func (s *service) explain(f fault) error {
	message := s.client.Clean(f.Message)
	switch {
	case f.Name == "PERMISSION_DENIED":
		return source.Refusef("%s", message)
	case f.Name == "EXCEEDED_TIME_LIMIT" || f.Name == "USER_CANCELED" || f.Name == "ADMINISTRATIVELY_KILLED":
		timedOut := f.Name == "EXCEEDED_TIME_LIMIT"
		return &source.Error{Kind: source.Limited, TimedOut: timedOut, Reason: "The query was stopped: " + message}
	case f.Type == "INSUFFICIENT_RESOURCES":
		return source.Limitf("The query needed more than it may use: %s", message)
	case f.Type == "INTERNAL_ERROR":
		return footnote.Errorf(footnote.DatabaseUnavailable, "The database reported an internal error: %s", message)
	}
	return source.Failf("%s", message)
}

// Excess implements warehouse.Service. Not every connector knows privileges.
func (s *service) Excess(ctx context.Context) ([]string, error) {
	var found []string
	err := warehouse.Collect(ctx, s, fmt.Sprintf(privileges, rules.Quote(s.catalog)), func(row []string) error {
		found = append(found, row[0])
		return nil
	})
	if _, ok := errors.AsType[*source.Error](err); ok {
		err = warehouse.ErrUntold
	}
	return found, err
}
