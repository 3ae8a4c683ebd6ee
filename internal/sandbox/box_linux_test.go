package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/footnotehq/footnote/internal/sandbox"
)

// TestKernelEnforcesSize checks that no attempt stores more bytes than the limit. Each attempt prints its
// current total repeatedly, because it may be killed at any time.
func TestKernelEnforcesSize(t *testing.T) {
	const limit = 16 << 20
	for name, script := range map[string]string{
		"unlinked": `import os
n = 0
for i in range(100):
  f = os.open("f", os.O_CREAT | os.O_RDWR)
  os.unlink("f")
  try:
    for j in range(1000): n += os.write(f, b"x" * (1 << 20))
  except OSError: pass
  print(n, flush=True)`,
		"in flight": `import os, socket
a, b = socket.socketpair()
n = 0
for i in range(50):
  try:
    f = os.open("f", os.O_CREAT | os.O_RDWR)
    os.unlink("f")
    for j in range(60): n += os.write(f, b"x" * (1 << 20))
  except OSError: pass
  socket.send_fds(a, [b"x"], [f])
  os.close(f)
  print(n, flush=True)`,
		"mapped": `import mmap, os
n, keep = 0, []
for i in range(50):
  try:
    f = os.open("f", os.O_CREAT | os.O_RDWR)
    os.ftruncate(f, 4 << 20)
    os.posix_fallocate(f, 0, 4 << 20)
    keep.append(mmap.mmap(f, 4 << 20))
    n += 4 << 20
  except OSError: pass
  os.unlink("f")
  os.close(f)
  print(n, flush=True)`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			res := run(t, dir, "python3 - <<'E'\n"+script+"\nE", sandbox.Limits{Disk: limit})
			total := int64(0)
			for line := range strings.Lines(string(res.Output)) {
				var n int64
				if _, err := fmt.Sscan(line, &n); err != nil {
					t.Fatalf("%q: %v", res.Output, err)
				}
				total = max(total, n)
			}
			if total > limit || total < limit/2 {
				t.Errorf("it had %d bytes of %d, ended %q", total, limit, res.Ended)
			}
			if left := blocks(t, dir); left > limit+1<<20 {
				t.Errorf("%d bytes are left", left)
			}
		})
	}
}

// blocks returns the disk space that a folder uses.
func blocks(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			total += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

func TestChangesAreCopiedBack(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"same", "changed", "gone", "mapped", "dated", "d/inner", "e/inner", "tofile/x", "todir",
	} {
		write(name, "old "+name)
	}
	if err := os.Link(filepath.Join(dir, "same"), filepath.Join(dir, "second")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(filepath.Join(dir, "same"), old, old); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, "same"))
	if err != nil {
		t.Fatal(err)
	}
	res := run(t, dir, `set -e
[ "$(stat -c %h same second | tr '\n' ' ')" = "2 2 " ]
[ "$(stat -c %Y same)" = `+fmt.Sprint(old.Unix())+` ]
printf new >changed; rm gone; touch -r dated stamp; printf NEW >dated; touch -r stamp dated; rm stamp
python3 -c 'import mmap; f=open("mapped","r+b"); m=mmap.mmap(f.fileno(),0); m[0:3]=b"OLD"'
mv d moved; rm -r e; rm -r tofile; echo x >tofile; rm todir; mkdir todir; echo y >todir/y
ln -s /etc/passwd link; ln changed other; chmod 755 changed; mkfifo pipe; mkdir -p shut/in; echo z >shut/in/z; chmod 0 shut/in/z shut/in shut
truncate -s 40M sparse; printf end >>sparse; mkdir empty`, sandbox.Limits{})
	if res.Exit != 0 || res.Ended != "" {
		t.Fatalf("exit %d, ended %q: %s", res.Exit, res.Ended, res.Output)
	}
	for name, want := range map[string]string{
		"same": "old same", "second": "old same", "changed": "new", "other": "new", "mapped": "OLD mapped",
		"dated": "NEW", "moved/inner": "old d/inner",
		"tofile": "x\n", "todir/y": "y\n", "shut/in/z": "z\n",
	} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s = %q, %v; want %q", name, data, err, want)
		}
	}
	for _, name := range []string{"gone", "d", "e", "pipe", "stamp"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	after, err := os.Stat(filepath.Join(dir, "same"))
	if err != nil || !os.SameFile(before, after) ||
		after.Sys().(*syscall.Stat_t).Ctim != before.Sys().(*syscall.Stat_t).Ctim {
		t.Errorf("a file that did not change was written: %v", err)
	}
	changed, err := os.Stat(filepath.Join(dir, "changed"))
	if other, err2 := os.Stat(filepath.Join(dir, "other")); err != nil || err2 != nil || !os.SameFile(changed, other) ||
		changed.Mode().Perm() != 0o755 {
		t.Errorf("two names are not one file, or its mode is not kept: %v, %v", err, err2)
	}
	if target, err := os.Readlink(filepath.Join(dir, "link")); err != nil || target != "/etc/passwd" {
		t.Errorf("link = %q, %v", target, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "sparse")); err != nil || info.Size() != 40<<20+3 ||
		info.Sys().(*syscall.Stat_t).Blocks > 2048 {
		t.Errorf("the sparse file is %+v, %v", info, err)
	}
	if res := run(t, dir, "rm -rf * && ls -A", sandbox.Limits{}); len(res.Output) != 0 {
		t.Errorf("left: %s", res.Output)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// TestOverfull checks that a folder that exceeds its limit can be emptied, and nothing else.
func TestOverfull(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), make([]byte, 1<<20), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l := sandbox.Limits{Disk: 8 << 20}
	res := run(t, dir, "ls | wc -l; stat -c %s f7; stat -f -c %c .; echo x >new || mkdir d || mv f1 f2; rm f0 f1", l)
	if !res.Full || !strings.HasPrefix(string(res.Output), "20\n1048576\n1000001\n") {
		t.Errorf("full %v: %s", res.Full, res.Output)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 18 {
		t.Errorf("there are %d files, %v", len(names), err)
	}
	for i := range 20 {
		if data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("f%d", i))); err == nil && len(data) != 1<<20 {
			t.Errorf("f%d has %d bytes", i, len(data))
		}
	}
	if res = run(t, dir, "rm f1? f2; ls | wc -l", l); !res.Full || string(res.Output) != "7\n" || res.Exit != 0 {
		t.Errorf("full %v, exit %d: %s", res.Full, res.Exit, res.Output)
	}
	if res = run(t, dir, "echo x >new && cat new", l); string(res.Output) != "x\n" {
		t.Errorf("emptied, it is %s", res.Output)
	}
}

func TestDeepFolders(t *testing.T) {
	dir := t.TempDir()
	res := run(t, dir, `for i in $(seq 1 150); do mkdir d && cd d || exit 1; done; echo x >f; cd /workspace; echo y >g`,
		sandbox.Limits{})
	if res.TooDeep != 1 || res.Exit != 0 {
		t.Errorf("%d too deep, exit %d: %s", res.TooDeep, res.Exit, res.Output)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "g")); err != nil || string(data) != "y\n" {
		t.Errorf("g = %q, %v", data, err)
	}
	if res := run(t, dir, "rm -r d", sandbox.Limits{}); res.Exit != 0 {
		t.Errorf("rm: %s", res.Output)
	}
	if _, err := os.Lstat(filepath.Join(dir, "d")); !os.IsNotExist(err) {
		t.Errorf("d is there: %v", err)
	}
}

// TestPipeInTheFolder checks that a pipe in the folder does not block anything.
func TestPipeInTheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := run(t, dir, "ls", sandbox.Limits{}); len(res.Output) != 0 || res.Exit != 0 {
		t.Errorf("%q, exit %d", res.Output, res.Exit)
	}
}

// TestNamesOfCopies checks that commands may use any file name, even one that a temporary copy has or had.
func TestNamesOfCopies(t *testing.T) {
	const like = ".footnote-copy-ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, name := range []string{".footnote-copy", like} {
		for what, script := range map[string]string{
			"made with another":   "touch a " + name,
			"a folder":            "mkdir -p " + name + "/x; touch a",
			"without any rights":  "touch a " + name + "; chmod 0 " + name,
			"a link to the other": "touch a; ln -s a " + name,
		} {
			dir := t.TempDir()
			for _, script := range []string{script, "echo 1 >a; echo z >z", "echo 2 >a; rm z"} {
				if res := run(t, dir, script, sandbox.Limits{}); res.Exit != 0 {
					t.Fatalf("%s: exit %d: %s", script, res.Exit, res.Output)
				}
			}
			if data, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(data) != "2\n" {
				t.Errorf("%s, %s: a = %q, %v", name, what, data, err)
			}
			if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
			if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
				t.Errorf("%s, %s: the folder has %v, %v", name, what, names, err)
			}
		}
	}
}

// TestLeftoverOfAKilledServer checks that the next command removes a copy that a killed server left, and does
// not see it.
func TestLeftoverOfAKilledServer(t *testing.T) {
	dir := t.TempDir()
	const left = ".footnote-copy-ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{left, "d/" + left} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 4096), 0o200); err != nil {
			t.Fatal(err)
		}
	}
	if res := run(t, dir, "find . -type f; echo x >a", sandbox.Limits{}); len(res.Output) != 0 {
		t.Errorf("the command sees %s", res.Output)
	}
	for _, name := range []string{left, "d/" + left} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
}

// TestAttributesOfFiles checks that commands cannot set file attributes, which the kernel keeps in memory
// outside the folder's limit.
func TestAttributesOfFiles(t *testing.T) {
	dir := t.TempDir()
	res := run(t, dir, `python3 - <<'E'
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
open("f", "w").close()
f = os.open("f", os.O_RDWR)
value = b"x" * 1000
calls = {
  "setxattr": lambda: libc.setxattr(b"f", b"user.a", value, len(value), 0),
  "lsetxattr": lambda: libc.lsetxattr(b"f", b"user.b", value, len(value), 0),
  "fsetxattr": lambda: libc.fsetxattr(f, b"user.c", value, len(value), 0),
}
class Args(ctypes.Structure):
  _fields_ = [("value", ctypes.c_uint64), ("size", ctypes.c_uint32), ("flags", ctypes.c_uint32)]
args = Args(ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value, len(value), 0)
calls["setxattrat"] = lambda: libc.syscall(463, -100, b"f", 0, b"user.d", ctypes.byref(args), ctypes.sizeof(args))
for name, call in calls.items():
  r = call()
  print(name, ctypes.get_errno() == errno.EOPNOTSUPP if r else "set")
print(os.listxattr("f"))
E`, sandbox.Limits{})
	want := "setxattr True\nlsetxattr True\nfsetxattr True\nsetxattrat True\n[]\n"
	if string(res.Output) != want {
		t.Errorf("%s\nwant %s", res.Output, want)
	}
}

// TestProgramsWithoutAttributes checks that programs that copy attributes continue without them.
func TestProgramsWithoutAttributes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"f", "d/g"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text\n"), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	res := run(t, dir, `set -e
cp -a d e; cp -p f f2; mv f2 /tmp/f2; mv /tmp/f2 f3; install -m 755 f f4
tar cf - --xattrs d | (mkdir t && tar xf - --xattrs -C t)
tar czf t.tgz d; tar xzf t.tgz -C t
python3 -c 'import shutil
shutil.copy2("f", "p"); shutil.copytree("d", "q"); shutil.move("p", "/tmp/p"); shutil.move("/tmp/p", "p")'
if command -v git >/dev/null; then
  git init -q r; cd r; cp -a ../d .; git add .; git -c user.name=a -c user.email=a@b commit -qm x
  git clone -q . ../clone; cd ..; cat clone/d/g
else cat d/g; fi
cat e/g f3 f4 t/d/g p q/g; stat -c %a f3 e/g p q/g t/d/g`, sandbox.Limits{})
	if want := strings.Repeat("text\n", 7) + strings.Repeat("750\n", 5); string(res.Output) != want || res.Exit != 0 {
		t.Errorf("exit %d: %s", res.Exit, res.Output)
	}
}

// TestDeepestFiles checks that files in the deepest folder that is kept behave like any others.
func TestDeepestFiles(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, strings.Repeat("d/", 100))
	if err := os.MkdirAll(filepath.Join(deep, "kept"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gone", "changed", "kept/f"} {
		if err := os.WriteFile(filepath.Join(deep, name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("x", filepath.Join(deep, "link")); err != nil {
		t.Fatal(err)
	}
	script := "cd " + strings.Repeat("d/", 100) + " && rm gone link && printf new >changed && printf new >made"
	if res := run(t, dir, script, sandbox.Limits{}); res.Exit != 0 {
		t.Fatalf("exit %d: %s", res.Exit, res.Output)
	}
	for _, name := range []string{"gone", "link"} {
		if _, err := os.Lstat(filepath.Join(deep, name)); !os.IsNotExist(err) {
			t.Errorf("%s came back: %v", name, err)
		}
	}
	for name, want := range map[string]string{"changed": "new", "made": "new", "kept/f": "old"} {
		if data, err := os.ReadFile(filepath.Join(deep, name)); err != nil || string(data) != want {
			t.Errorf("%s = %q, %v; want %q", name, data, err, want)
		}
	}
}
