//go:build !race

package postgres

const raceTimes = 1
