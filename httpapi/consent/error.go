package consent

import (
	"encoding/json"
	"errors"

	"github.com/footnotehq/footnote"
)

// The error codes of OAuth.
const (
	invalidRequest  = "invalid_request"
	invalidClient   = "invalid_client"
	invalidGrant    = "invalid_grant"
	invalidTarget   = "invalid_target"
	invalidRedirect = "invalid_redirect_uri"
	invalidMetadata = "invalid_client_metadata"
	badGrantType    = "unsupported_grant_type"
	badResponseType = "unsupported_response_type"
	accessDenied    = "access_denied"
)

// Refusal is an error for a client, in the terms of OAuth.
type Refusal struct {
	Code string
	err  *footnote.Error
}

func (r *Refusal) Error() string { return r.Code + ": " + r.err.Error() }

func (r *Refusal) Unwrap() error { return r.err }

func refusef(code, format string, args ...any) *Refusal {
	return &Refusal{code, footnote.Invalidf(format, args...)}
}

// because returns the refusal with a cause for the log.
func (r *Refusal) because(err error) *Refusal {
	return &Refusal{r.Code, &footnote.Error{Code: r.err.Code, Message: r.err.Message, Err: err}}
}

// Envelope encodes an error as clients of OAuth expect it. It implements protocol.Envelope.
func Envelope(err error) (contentType string, body []byte) {
	code := "server_error"
	switch footnote.CodeOf(err) {
	case footnote.InvalidRequest, footnote.TooLarge:
		code = invalidRequest
	case footnote.RateLimited, footnote.StorageUnavailable:
		code = "temporarily_unavailable"
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		code = r.Code
	}
	// Texts can always be encoded.
	body, _ = json.Marshal(map[string]string{"error": code, "error_description": footnote.MessageOf(err)})
	return "application/json", body
}
