package footnote

// Usage counts the tokens of one model call, or of several added up.
type Usage struct {
	Input        int64 `json:"input"`                    // uncached input
	CacheWrite5m int64 `json:"cache_write_5m,omitempty"` // written to the cache, short lived
	CacheWrite1h int64 `json:"cache_write_1h,omitempty"` // written to the cache, long lived
	CacheRead    int64 `json:"cache_read,omitempty"`
	Output       int64 `json:"output"`             // thinking included
	Thinking     int64 `json:"thinking,omitempty"` // part of Output
	Searches     int64 `json:"searches,omitempty"` // web searches that the provider runs, billed per use
	Estimated    bool  `json:"estimated,omitempty"`
}

// Add returns the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:        u.Input + v.Input,
		CacheWrite5m: u.CacheWrite5m + v.CacheWrite5m,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
		CacheRead:    u.CacheRead + v.CacheRead,
		Output:       u.Output + v.Output,
		Thinking:     u.Thinking + v.Thinking,
		Searches:     u.Searches + v.Searches,
		Estimated:    u.Estimated || v.Estimated,
	}
}

// Prompt returns the tokens of the whole prompt, including cached parts.
func (u Usage) Prompt() int64 { return u.Input + u.CacheWrite5m + u.CacheWrite1h + u.CacheRead }

// Weighted returns how many tokens count against limits in a run with a weight, as in RunStarted.
func (u Usage) Weighted(weight int64) int64 { return (u.Prompt() + u.Output) * max(1, weight) }

// Cost is money spent, in millionths of a US dollar.
type Cost struct {
	MicroUSD int64 `json:"micro_usd"`
	// Unpriced is true when the model's price is unknown and the highest known price was used instead. An unknown
	// price never counts as zero.
	Unpriced bool `json:"unpriced,omitempty"`
}

// Add returns the sum of two costs.
func (c Cost) Add(d Cost) Cost {
	return Cost{MicroUSD: c.MicroUSD + d.MicroUSD, Unpriced: c.Unpriced || d.Unpriced}
}

// USD returns the cost in dollars.
func (c Cost) USD() float64 { return float64(c.MicroUSD) / 1e6 }
