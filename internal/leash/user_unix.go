//go:build unix

package leash

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// owner returns the user that a server runs as: database servers refuse to run as root. Of the names, the first that
// the machine knows is taken.
func owner(names []string) (uid, gid int, err error) {
	if os.Getuid() != 0 {
		return os.Getuid(), os.Getgid(), nil
	}
	for _, name := range append(names, "nobody") {
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
	return 0, 0, fmt.Errorf("the server cannot run as root, and there is no user %s: %w", names[0], err)
}

// GiveAway makes the first of some users that the machine knows the owner of a folder, if the tests run as root.
func GiveAway(dir string, names ...string) error {
	uid, gid, err := owner(names)
	if err != nil {
		return err
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return err
	}
	return os.Chmod(dir, 0o711) // so that the tests reach the socket in it
}

// AsUser makes a command run as the user of GiveAway.
func AsUser(cmd *exec.Cmd, names ...string) {
	OwnGroup(cmd)
	if os.Getuid() != 0 {
		return
	}
	uid, gid, err := owner(names)
	if err != nil {
		return // GiveAway has reported the error
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
