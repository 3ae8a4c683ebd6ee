package main

import (
	"cmp"

	"github.com/footnotehq/footnote/config"
)

const (
	assumedFiles = 8192   // where the system does not say
	usefulFiles  = 65_536 // more streams than these allow for need more processors, too
	mostPerUser  = 2000   // streams, unless the configuration says otherwise
)

// openLimits are how much may be open at once. They follow from the files a process
// may have, of which each connection is one.
type openLimits struct{ connections, streams, perUser int }

// limitsOfFiles leaves some of the files to databases and child processes, and a third
// of the others to connections to models. Of the rest, three quarters are for streams.
func limitsOfFiles(files uint64, l config.Limits) openLimits {
	n := int(min(files, usefulFiles))
	n -= min(n/4, 512)
	o := openLimits{connections: max(n*2/3, 8)}
	o.streams = cmp.Or(l.Streams, max(o.connections*3/4, 4))
	o.connections = max(o.connections, o.streams+o.streams/3) // the operator knows better
	o.perUser = cmp.Or(l.StreamsPerUser, min(max(o.streams/4, 1), mostPerUser))
	return o
}
