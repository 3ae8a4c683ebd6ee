package app

import (
	"cmp"

	"github.com/footnotehq/footnote/config"
)

const (
	assumedFiles = 8192   // where the system does not report a limit
	usefulFiles  = 65_536 // more streams than this allows also need more processors
	maxPerUser   = 2000   // streams, unless configured
)

// openLimits limits how many connections and streams may be open at once. The limits follow from the open-file limit
// of the process, because each connection is a file.
type openLimits struct{ connections, streams, perUser int }

// limitsOfFiles reserves some of the files for databases and child processes, and a third of the others for
// connections to models. Three quarters of the rest are for streams.
func limitsOfFiles(files uint64, l config.Limits) openLimits {
	n := int(min(files, usefulFiles))
	n -= min(n/4, 512)
	o := openLimits{connections: max(n*2/3, 8)}
	o.streams = cmp.Or(l.Streams, max(o.connections*3/4, 4))
	o.connections = max(o.connections, o.streams+o.streams/3) // the operator's setting wins
	o.perUser = cmp.Or(l.StreamsPerUser, min(max(o.streams/4, 1), maxPerUser))
	return o
}
