package consent

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
)

// The kinds of tokens, with which each begins.
const (
	codeKind    = "fnc_" // an authorization code
	refreshKind = "fnr_"
	accessKind  = "fna_"
)

// part is the size of each of the three parts of a token: the id of its consent, which is public, a secret that all
// tokens of the consent share, and one of its own. Each has 130 random bits.
const part = 26

// token is a token, split into its parts.
type token struct{ kind, id, family, own string }

// parse splits a text that has the format of a token.
func parse(text string) (t token, ok bool) {
	if len(text) != len(codeKind)+3*part {
		return token{}, false
	}
	t.kind, text = text[:len(codeKind)], text[len(codeKind):]
	t.id, t.family, t.own = text[:part], text[part:2*part], text[2*part:]
	return t, t.kind == codeKind || t.kind == refreshKind || t.kind == accessKind
}

func (t token) String() string { return t.kind + t.id + t.family + t.own }

func (t token) digest() [sha256.Size]byte { return sha256.Sum256([]byte(t.String())) }

// next returns the token of a kind that a client gets for t. The same salt gives the same token, so that a client
// whose response was lost, or that sent two requests at once, gets it again.
func (t token) next(kind string, salt []byte) token {
	own := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(mac(salt, kind+t.String()))
	return token{kind, t.id, t.family, own[:part]}
}

// newCode returns the first token of a new consent.
func newCode() token {
	return token{codeKind, rand.Text()[:part], rand.Text()[:part], rand.Text()[:part]}
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// cover encrypts or decrypts the digest of a person's key with the secret of the consent's tokens, so that nobody can
// find out from the store alone which key it is.
func cover(family string, digest []byte) []byte {
	out := make([]byte, len(digest))
	subtle.XORBytes(out, digest, mac([]byte(family), "key"))
	return out
}

// same compares digests in constant time.
func same(a, b [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }
