package footnote

import (
	"errors"
	"fmt"
	"time"
)

// Code identifies the kind of failure of an Error. Programs branch on it; the values are part of the public contract
// and never change.
type Code string

// The codes a client can see. One table in package httpapi maps each to its HTTP status.
const (
	InputTooLong         Code = "input_too_long"
	InvalidRequest       Code = "invalid_request"
	UnsupportedParameter Code = "unsupported_parameter"
	Unauthorized         Code = "unauthorized"
	Forbidden            Code = "forbidden"
	NotFound             Code = "not_found"
	ModelNotFound        Code = "model_not_found"
	Conflict             Code = "conflict"
	CallUnknown          Code = "call_unknown"  // an answer to a call that was never open
	CallAnswered         Code = "call_answered" // an answer to a call that already has another answer
	CallClosed           Code = "call_closed"   // an answer that came too late, or that the client may not give
	TooLarge             Code = "too_large"
	RateLimited          Code = "rate_limited"
	BudgetExceeded       Code = "budget_exceeded"
	Internal             Code = "internal_error"
	ModelUnavailable     Code = "model_unavailable"
	DatabaseUnavailable  Code = "database_unavailable"
	StorageUnavailable   Code = "storage_unavailable"
	StorageDamaged       Code = "storage_damaged"    // some stored data cannot be read, and waiting does not help
	MarketUnavailable    Code = "market_unavailable" // some market data is unavailable
	AgentTimeout         Code = "agent_timeout"
)

// Error is a classified failure with two audiences: Message is safe to show to a
// user, Err is the cause for the operator's log and never leaves the server.
type Error struct {
	Code       Code
	Message    string
	RetryAfter time.Duration // how long the client should wait; 0 when unknown
	Limit      *OverLimit    // the limit that was reached; nil if it is not one of Footnote's limits
	Err        error
}

// Errorf returns an Error without a cause.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalidf returns an InvalidRequest without a cause.
func Invalidf(format string, args ...any) *Error { return Errorf(InvalidRequest, format, args...) }

// Wrapf returns an Error with a cause.
func Wrapf(code Code, err error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + " (" + e.Err.Error() + ")"
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first Error in err's chain, and Internal if there is none. CodeOf(nil) is the empty
// code.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// MessageOf returns the text of err that may be shown to a user: the Message of the first Error in its chain, or a
// constant sentence if there is none.
func MessageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return "Something went wrong on the server. The operator's log has the details."
}
