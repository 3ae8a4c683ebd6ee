//go:build !unix

package child

import (
	"io"
	"os"
)

func takePipes() (in io.Reader, out io.Writer, err error) {
	in, out = os.Stdin, os.Stdout
	os.Stdout = os.Stderr
	return in, out, nil
}
