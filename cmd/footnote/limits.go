package main

import (
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/ledger"
)

// allowances says what the configuration lets people use.
func allowances(c config.Config) func(footnote.Principal) ledger.Allowance {
	return func(footnote.Principal) ledger.Allowance { return ledger.Allowance{TokensPerDay: c.TokensPerDay} }
}
