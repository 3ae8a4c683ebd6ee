//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"

	"github.com/footnotehq/footnote/internal/leash"
)

// owner returns the user that the server runs as: Postgres refuses to run as root.
func owner() (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return os.Getuid(), os.Getgid(), nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, lerr := user.Lookup(name)
		if lerr != nil {
			err = lerr
			continue
		}
		uid, err = strconv.Atoi(u.Uid)
		if err == nil {
			gid, err = strconv.Atoi(u.Gid)
		}
		return uid, gid, err
	}
	return 0, 0, fmt.Errorf("postgres cannot run as root, and there is no user postgres: %w", err)
}

// giveAway makes the server's user the owner of a folder.
func giveAway(dir string) error {
	uid, gid, err := owner()
	if err != nil {
		return err
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return err
	}
	return os.Chmod(dir, 0o711) // so that the tests reach the socket in it
}

func asUser(cmd *exec.Cmd) {
	leash.OwnGroup(cmd)
	if os.Getuid() != 0 {
		return
	}
	uid, gid, err := owner()
	if err != nil {
		return // giveAway has reported the error
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
