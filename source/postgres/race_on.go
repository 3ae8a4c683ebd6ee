//go:build race

package postgres

// The race detector keeps several bytes for each byte that the parser uses.
const raceTimes = 4
