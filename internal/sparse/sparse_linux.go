// Package sparse reads files without their holes.
package sparse

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// HasHoles reports whether part of a file takes no disk space.
func HasHoles(f *os.File, size int64) bool {
	end, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_HOLE)
	_, errBack := unix.Seek(int(f.Fd()), 0, unix.SEEK_SET)
	return err == nil && errBack == nil && end < size
}

// EachData calls f for the parts of a file that are not holes.
func EachData(file *os.File, size int64, f func(off, end int64) error) error {
	for off := int64(0); off < size; {
		data, err := unix.Seek(int(file.Fd()), off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // a hole up to the end
		}
		if err != nil {
			data = off // the file system does not report holes
		}
		end, err := unix.Seek(int(file.Fd()), data, unix.SEEK_HOLE)
		if err != nil {
			end = size
		}
		if end = min(end, size); data >= end {
			return nil
		}
		if err := f(data, end); err != nil {
			return err
		}
		off = end
	}
	return nil
}
