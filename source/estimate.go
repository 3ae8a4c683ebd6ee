package source

import "context"

// Estimator is a Source that knows, before a statement runs, about how much it would read.
type Estimator interface {
	// Estimate passes the statement through the gate as Query does, and returns what the engine expects of it. It never
	// runs the statement. Its errors are those of Query.
	Estimate(ctx context.Context, q Query) (Estimate, error)
}

// Estimate is what an engine expects a statement to read. Estimates are often wrong by a factor of ten, except for
// bytes of an engine that bills by them.
type Estimate struct {
	Rows  int64 // -1 when not known
	Bytes int64 // -1 when not known
	// MicroUSD is what the statement would cost in millionths of a US dollar, for engines that bill by bytes.
	MicroUSD int64
	// Why names the part of the plan that reads most, such as "reads all of orders". It may be empty.
	Why string
}
