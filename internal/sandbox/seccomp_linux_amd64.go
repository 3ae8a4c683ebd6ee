package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/confine"
)

// refusedHere lists calls that other architectures do not have.
var refusedHere = []confine.Rule{
	{Call: unix.SYS_CHMOD, When: bits(1, setIDs)},
	{Call: unix.SYS_CREAT, When: bits(1, setIDs)},
	{Call: unix.SYS_MKNOD, When: bits(1, setIDs)},
	{Call: unix.SYS_OPEN, When: append(bits(1, unix.O_CREAT), bits(2, setIDs)...)},
	{Call: unix.SYS_IOPL},
	{Call: unix.SYS_IOPERM}, {Call: unix.SYS_MODIFY_LDT}, {Call: unix.SYS_USELIB}, {Call: unix.SYS_KEXEC_FILE_LOAD},
}
