package storetest_test

import (
	"testing"

	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/storetest"
)

func TestMem(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) store.Store {
		s := storetest.NewMem()
		tb.Cleanup(func() { _ = s.Close() })
		return s
	})
}
