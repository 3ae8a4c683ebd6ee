package source

// Proof says how well a source is known to be read-only, in two words: how strong the evidence is, and on what the
// engine was tested.
type Proof struct {
	Strength string // Proven, Gated or Unproven
	TestedOn string // Real or Imitation
}

// The strengths of a Proof.
const (
	// Proven means that every known way to write was tried at start, past the gate and past each layer below it, in a
	// process that the system keeps from writing the data.
	Proven = "proven"
	// Gated means that a gate with a grammar lets only reading statements through, that every known way to write was
	// tried through it, and that the privileges of the database's user were checked. The rest is the server's word.
	Gated = "gated"
	// Unproven means that the database does not tell what its user may do beyond reading, so only the gate and the
	// writes that were tried say that it is read-only. Such a source must be in the setting accept_unproven.
	Unproven = "unproven"
)

// What an engine was tested on.
const (
	Real      = "real"      // the engine itself
	Imitation = "imitation" // a server that speaks its language, and its documentation
)

// Proved is a Source whose Proof depends on the server behind it.
type Proved interface{ Proof() Proof }

// String returns the two words, such as "gated, tested on the real engine".
func (p Proof) String() string {
	if p.TestedOn == Real {
		return p.Strength + ", tested on the real engine"
	}
	return p.Strength + ", tested on an imitation of the engine"
}
