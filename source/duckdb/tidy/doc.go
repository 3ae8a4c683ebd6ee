// Package tidy reads tables as people really have them: CSV exports with a title above the header, decimal commas,
// dates in three orders, currency signs, a totals row at the end, a Latin-1 umlaut in line 40,000. It detects how a
// file is written by reading all of it, and describes its decisions in notes.
//
// Every file is read twice. Plan detects encoding, separator and header, and examines every cell of every row
// before it decides a column's type, so that the second pass, Each, never meets a value that does not fit. A column
// whose values disagree stays text: no value is dropped or altered to make it fit.
//
// No row is dropped silently. Rows that are not data (titles above the header, repeated headers, a totals row whose
// numbers are the column sums, remarks below the table) are counted and named in the notes. Every other row that is
// not blank is a row of the table.
//
// Ambiguous values are read the same way in the whole file. Another column may decide (one with 31.12.2023 decides
// for one with 01.02.2023). Otherwise, these defaults apply and are noted: 1,234 is one thousand two hundred and
// thirty-four, 1.234 is a fraction, and 01/02/2023 is January 2nd; a file that uses semicolons or decimal commas
// gets the opposite defaults.
package tidy
