package aisdk

import "github.com/footnotehq/footnote/internal/strictjson"

const doneFrame = "data: [DONE]\n\n"

// chunk begins the frame of a chunk. It has only the fields that the protocol allows for the chunk; no field is ever
// null.
func chunk(dst []byte, kind string) strictjson.Builder {
	return strictjson.Builder(append(dst, "data: {"...)).Text("type", kind)
}

func end(o strictjson.Builder) []byte { return append(o, "}\n\n"...) }

// executed marks calls that the server runs, so that the client neither runs them nor posts again because of
// them.
func executed(o strictjson.Builder, c *call) strictjson.Builder {
	if c.client {
		return o
	}
	return o.Bool("providerExecuted", true)
}
