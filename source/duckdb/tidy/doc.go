// Package tidy reads the tables people really have: CSV exports with a title
// above the header, decimal commas, dates in three orders, money signs, a totals
// row at the end, a Latin-1 umlaut in line 40,000. It finds out how a file is
// written by looking at all of it, and says in words what it decided.
//
// A file is read twice. Plan detects encoding, separator and header, and takes
// every cell of every row into account before a column gets a type, so that the
// second pass, Each, never meets a value that does not fit. A column whose values
// do not agree stays text: nothing is guessed away.
//
// No row disappears without a word. Rows that are not data (titles above the
// header, repeated headers, a totals row whose numbers are the column sums,
// remarks below the table) are counted and named in the notes; every other row
// that is not blank is a row of the table.
//
// What is ambiguous is decided for the whole file where another column tells
// (a column with 31.12.2023 decides for one with 01.02.2023), otherwise by these
// defaults, which are noted: 1,234 is one thousand two hundred and thirty-four
// and 1.234 a fraction, and 01/02/2023 is January 2nd, unless the file uses
// semicolons or decimal commas, in which case it is the other way round.
package tidy
