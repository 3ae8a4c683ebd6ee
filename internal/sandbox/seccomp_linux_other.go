//go:build linux && !amd64

package sandbox

import "github.com/footnotehq/footnote/internal/confine"

// refusedHere lists calls that only some architectures have.
var refusedHere []confine.Rule
