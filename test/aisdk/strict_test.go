//go:build conformance

package aisdk

import "testing"

// TestStrictClients runs the scenarios with the last releases that reject a chunk with an unknown key.
func TestStrictClients(t *testing.T) {
	for _, version := range []string{"v5-strict", "v6-strict", "v7-strict"} {
		t.Run(version, func(t *testing.T) { t.Parallel(); drive(t, version) })
	}
}
