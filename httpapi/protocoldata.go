package httpapi

import (
	"net/http"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/protocol"
)

// This file implements protocol.Data.

var errNoData = footnote.Errorf(footnote.NotFound, "This server has no sources.")

func (s *Server) Sources(r *http.Request) ([]protocol.SourceInfo, error) {
	if s.opts.Data == nil {
		return nil, nil
	}
	return s.opts.Data.List(r.Context(), PrincipalOf(r.Context()))
}

func (s *Server) Schema(r *http.Request, source string) (protocol.SourceSchema, error) {
	if s.opts.Data == nil {
		return protocol.SourceSchema{}, errNoData
	}
	return s.opts.Data.Schema(r.Context(), PrincipalOf(r.Context()), source)
}

func (s *Server) Query(r *http.Request, q protocol.Query) (protocol.QueryResult, error) {
	if s.opts.Data == nil {
		return protocol.QueryResult{}, errNoData
	}
	if strings.TrimSpace(q.SQL) == "" {
		return protocol.QueryResult{}, footnote.Invalidf("The sql is empty.")
	}
	leave, err := s.tally.slot(r.Context(), ownerOf(PrincipalOf(r.Context())))
	if err != nil {
		return protocol.QueryResult{}, err
	}
	defer leave()
	return s.runOwn(r, q)
}

func (s *Server) Result(r *http.Request, id string, offset, limit int) (protocol.ResultPage, error) {
	stream, res, err := s.result(r, id)
	if err != nil {
		return protocol.ResultPage{}, err
	}
	out := pageOf(id, res, int64(offset))
	if out.SourceChanged, err = s.changedSince(r.Context(), stream, res); err != nil {
		return out, err
	}
	out.Rows, err = s.page(r.Context(), stream, res, max(offset, 0), min(limit, maxPageRows))
	return out, err
}
