package warehouse

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"

	"github.com/go-jose/go-jose/v4"
)

// ParseKey reads a private RSA key in the format PEM.
func ParseKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it has no private key in the format PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("its private key is not an RSA key, or is encrypted")
	}
	return key, nil
}

// Sign returns a signed token (a JWT) with claims.
func Sign(key *rsa.PrivateKey, keyID string, claims map[string]any) (string, error) {
	o := (&jose.SignerOptions{}).WithType("JWT")
	if keyID != "" {
		o = o.WithHeader("kid", keyID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, o)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
