package store_test

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

func consentOf(id, org, user string) store.Consent {
	return store.Consent{
		ID: id, Org: org, User: user, Token: sha256.Sum256([]byte(id)), Data: []byte(`{"client":"x"}`),
		Ends: time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond),
	}
}

func testConsents(t *testing.T, s store.Store) {
	ctx := begin(t)
	ann := consentOf("c1", "acme", "ann")
	must(t, s.AddConsent(ctx, ann))
	must(t, s.AddConsent(ctx, consentOf("c2", "other", "bob")))
	got, err := s.Consent(ctx, "c1")
	must(t, err)
	if since := time.Since(got.Created); since < -time.Minute || since > time.Hour || !got.Used.Equal(got.Created) {
		t.Errorf("created %v, used %v", got.Created, got.Used)
	}
	ann.Created, ann.Used = got.Created, got.Used
	equal(t, "the consent", got, ann)
	_, err = s.Consent(ctx, "c\x00")
	wantCode(t, err, footnote.NotFound)

	// Only one of several clients exchanges a token.
	var won atomic.Int32
	var wg sync.WaitGroup
	next := sha256.Sum256([]byte("next"))
	for range 8 {
		wg.Go(func() {
			ok, err := s.ExchangeToken(ctx, "c1", ann.Token, next, []byte("{}"))
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	equal(t, "exchanges of one token", won.Load(), int32(1))
	got, err = s.Consent(ctx, "c1")
	must(t, err)
	if got.Token != next || string(got.Data) != "{}" || got.Used.Before(got.Created) {
		t.Errorf("after the exchange: %+v", got)
	}
	must(t, s.RevokeConsent(ctx, "c1"))
	must(t, s.RevokeConsent(ctx, "c1"))
	wantCode(t, s.RevokeConsent(ctx, "c9"), footnote.NotFound)
	ok, err := s.ExchangeToken(ctx, "c1", next, ann.Token, nil)
	must(t, err)
	equal(t, "an exchange after the revocation", ok, false)

	list, err := s.ListConsents(ctx, "acme", "", 10)
	must(t, err)
	if len(list) != 1 || list[0].Revoked.IsZero() {
		t.Errorf("the consents of acme are %+v", list)
	}
	list, err = s.ListConsents(ctx, "", "c1", 10)
	must(t, err)
	equal(t, "consents after c1", len(list), 1)

	// The revoked consent makes room; there is no room for more than the limit.
	for n := range store.MaxConsents {
		must(t, s.AddConsent(ctx, consentOf(fmt.Sprintf("many%d", n), "acme", "ann")))
	}
	wantCode(t, s.AddConsent(ctx, consentOf("more", "acme", "ann")), footnote.RateLimited)
	_, err = s.Consent(ctx, "c1")
	wantCode(t, err, footnote.NotFound)
	wantCode(t, s.AddConsent(ctx, consentOf("", "acme", "ann")), footnote.InvalidRequest)
	large := consentOf("large", "acme", "cid")
	large.Data = make([]byte, 17<<10)
	wantCode(t, s.AddConsent(ctx, large), footnote.TooLarge)
}
