//go:build cgo && !noduckdb

package duckdb

import "testing"

func TestJSONBuffersFit(t *testing.T) {
	const mb = 1 << 20
	for _, tc := range []struct {
		size, memory int64
		object       int64
		threads      int
	}{
		{size: 100, memory: 614 * mb, object: mb, threads: 4},
		{size: 40 * mb, memory: 614 * mb, object: 40 * mb, threads: 3},
		{size: 2000 * mb, memory: 600 * mb, object: 150 * mb, threads: 1},
		{size: 2000 * mb, memory: 4000 * mb, object: 256 * mb, threads: 3},
	} {
		object, threads := jsonBuffers(tc.size, tc.memory, 4)
		if object != tc.object || threads != tc.threads {
			t.Errorf("jsonBuffers(%d MB, %d MB) = %d, %d; want %d, %d",
				tc.size/mb, tc.memory/mb, object, threads, tc.object, tc.threads)
		}
		if used := 2 * object * int64(threads); used > tc.memory/2 {
			t.Errorf("a file of %d MB takes %d MB of %d MB", tc.size/mb, used/mb, tc.memory/mb)
		}
	}
}
