package footnote

import (
	"crypto/sha256"
	"time"
)

// Consent is a person's consent that a client acts for them, with the state of the client's tokens. It holds no token
// and no key.
type Consent struct {
	ID        string // public; part of the tokens
	Org, User string
	// Token is the digest of the one token that can be exchanged for new tokens.
	Token [sha256.Size]byte
	Data  []byte // of the package that creates consents
	// Created is when the person consented, and Used when the Token was last replaced. The store sets both.
	Created, Used time.Time
	Ends          time.Time
	Revoked       time.Time // zero: not revoked
}
