package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/sandbox"
)

const canary = "canary-7f3a91"

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Setenv("SANDBOX_CANARY", canary) // no command may see it
	os.Exit(m.Run())
}

func run(t *testing.T, dir, script string, l sandbox.Limits) sandbox.Result {
	t.Helper()
	if l.Time == 0 {
		l.Time = 20 * time.Second
	}
	res, err := sandbox.Run(t.Context(), sandbox.Command{Dir: dir, Script: script, Limits: l})
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return res
}

func TestProbe(t *testing.T) {
	if err := sandbox.Probe(t.Context(), t.TempDir(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Probe(t.Context(), t.TempDir(), "/usr/share"); !errors.Is(err, sandbox.ErrUnavailable) ||
		!strings.Contains(err.Error(), "/usr") {
		t.Errorf("hidden files in a system folder: %v, want unavailable", err)
	}
}

func TestCommandsWork(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script, want string
		exit         int
	}{
		{"echo out; echo err >&2", "out\nerr\n", 0},
		{"pwd; echo $HOME; id -u; whoami", "/workspace\n/workspace\n1000\ncoder\n", 0},
		{
			"env | sort", "HOME=/workspace\nLANG=C.UTF-8\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nPWD=/workspace\nSHLVL=1\n_=/usr/bin/env\n", 0,
		},
		{"wc -l a.txt; sort -r a.txt | head -1", "2 a.txt\ntwo\n", 0},
		{"mkdir -p d/e && mv a.txt d/e/b.txt && cat d/e/b.txt && mv d/e/b.txt a.txt && rm -r d", "one\ntwo\n", 0},
		{"diff <(echo a) <(echo a) && echo same", "same\n", 0},
		{"false || exit 7", "", 7},
		{"kill -9 $$", "", 137},
		{"nonsense-program", "", 127},
		{"sleep 0.05 & wait; echo waited", "waited\n", 0},
		{"printf 'x\\0y\\xff'", "x\x00y\xff", 0},
		{"cat /dev/null; head -c 3 /dev/zero | wc -c; echo hi > /dev/stdout", "3\nhi\n", 0},
		{"read line; echo \"[$line]\"", "[]\n", 0}, // nothing to read
		{"echo x > /tmp/x && cat /tmp/x; chmod +x a.txt; ls -l a.txt | cut -c1-10", "x\n-rwx--x--x\n", 0},
	} {
		res := run(t, dir, c.script, sandbox.Limits{})
		if c.exit == 127 {
			res.Output = nil
		}
		if string(res.Output) != c.want || res.Exit != c.exit || res.Ended != "" {
			t.Errorf("%s: output %q, exit %d, ended %q; want %q, %d", c.script, res.Output, res.Exit, res.Ended, c.want,
				c.exit)
		}
	}
}

// TestEscapeAttempts runs attacks; each prints "escaped" if it succeeded.
func TestEscapeAttempts(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "workspace")
	store := filepath.Join(outside, "footnote.db")
	for path, text := range map[string]string{store: canary, filepath.Join(dir, "own.txt"): "own"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	local := filepath.Join(outside, "socket")
	unixSocket, err := net.Listen("unix", local)
	if err != nil {
		t.Fatal(err)
	}
	defer unixSocket.Close()
	abstract, err := net.Listen("unix", "@"+canary)
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	server := strconv.Itoa(os.Getpid())
	python := func(code string) string { return "python3 - <<'E'\n" + code + "\nE" }
	attacks := map[string]string{
		"shadow":             `cat /etc/shadow && echo escaped`,
		"passwd of the host": `grep -q root /etc/passwd && echo escaped`,
		"store":              `cat ` + store + ` && echo escaped`,
		"store, relative":    `cat ../footnote.db ../../footnote.db && echo escaped`,
		"folder beside":      `ls ` + outside + ` && echo escaped`,
		"home of root":       `ls /root /home && echo escaped`,
		"find": `find / \( -path /proc -o -path /usr \) -prune -o -name footnote.db -print | grep ` +
			`-q . && echo escaped`,
		"canary":                `grep -rqs 'canary-7f3[a]91' /proc/*/environ /proc/*/cmdline && echo escaped`,
		"environ of the first":  `tr '\0' '\n' </proc/1/environ && echo escaped`,
		"environ of the server": `cat /proc/` + server + `/environ && [ ` + server + ` != $$ ] && echo escaped`,
		"memory of the first":   `head -c 1 /proc/1/mem && echo escaped; head -c 1 /proc/1/maps && echo escaped`,
		"root of the first":     `ls /proc/1/root/ && echo escaped; ls /proc/1/cwd/ && echo escaped`,
		"descriptors of first": `for i in 0 1 2 3 4 5 6 7; do readlink /proc/1/fd/$i && echo escaped; : ` +
			`2>/dev/null >/proc/1/fd/$i && echo escaped; done`,
		"program of the first": `cat /proc/1/exe >/dev/null && echo escaped`,
		"old root":             `ls /old && echo escaped; cat /proc/self/root/etc/shadow && echo escaped`,
		"dots":                 `cat /../../../../etc/shadow && echo escaped`,
		"parents": `ps -ef 2>/dev/null | grep -v grep | grep -q sandbox.test && echo escaped; [ $PPID ` +
			`= 1 ] || echo escaped`,
		"tcp": `exec 3<>/dev/tcp/127.0.0.1/` + port + ` && echo escaped`,
		"tcp, python": python("import socket\nsocket.create_connection(('127.0.0.1', " + port +
			"), 2)\nprint('escaped')"),
		"udp": python(
			"import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nprint('escaped')"),
		"ipv6": python("import socket\nsocket.socket(socket.AF_INET6)\nprint('escaped')"),
		"raw": python(
			"import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nprint('escaped')"),
		"netlink": python(
			"import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\nprint('escaped')"),
		"vsock": python("import socket\nsocket.socket(40, socket.SOCK_STREAM)\nprint('escaped')"),
		"unix socket": python("import socket\ns=socket.socket(socket.AF_UNIX)\ns.connect('" + local +
			"')\nprint('escaped')"),
		"abstract socket": python("import socket\ns=socket.socket(socket.AF_UNIX)\ns.connect('\\0" + canary +
			"')\nprint('escaped')"),
		"names": `getent hosts example.org && echo escaped`,
		"write system": `echo x >/usr/x && echo escaped; echo x >/usr/bin/ls && echo escaped; touch ` +
			`/usr/lib/x && echo escaped`,
		"write root": `echo x >/x && echo escaped; mkdir /d && echo escaped`,
		"write etc":  `echo x >>/etc/passwd && echo escaped`,
		"write dev":  `echo x >/dev/x && echo escaped; mknod /tmp/sda b 8 0 && echo escaped`,
		"write proc": `echo x >/proc/sys/kernel/domainname && echo escaped; echo h >/proc/sysrq-trigger ` +
			`&& echo escaped`,
		"core pattern": `echo '|/workspace/x' >/proc/sys/kernel/core_pattern && echo escaped`,
		"oom score":    `echo -1000 >/proc/self/oom_score_adj && echo escaped`,
		"kernel memory": `head -c 1 /proc/kcore | grep -q . && echo escaped; head -c 1 /proc/kallsyms | ` +
			`grep -q . && echo escaped`,
		"sys":           `ls /sys/class && echo escaped`,
		"hard link out": `ln ` + store + ` here && echo escaped; ln /usr/bin/ls here2 && echo escaped`,
		"symlink out": `ln -s ` + store +
			` link; cat link && echo escaped; ln -s /etc/shadow l2; cat l2 && echo escaped`,
		"remount": `mount -o remount,rw / && echo escaped; mount -o remount,rw /usr && echo escaped; ` +
			`mount -t tmpfs x /tmp && echo escaped`,
		"umount": `umount /proc && echo escaped; umount -l /workspace && echo escaped`,
		"namespaces": `unshare -Ur true && echo escaped; unshare -n true && echo escaped; unshare -m ` +
			`true && echo escaped`,
		"enter":  `nsenter -t 1 -a true && echo escaped`,
		"chroot": `chroot / true && echo escaped`,
		"capabilities": `grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000 ` +
			`&& echo escaped`,
		"privileges": `grep -q 'NoNewPrivs:.1' /proc/self/status || echo escaped; grep -q 'Seccomp:.2' ` +
			`/proc/self/status || echo escaped`,
		"setuid programs": `su -c true && echo escaped; sudo -n true && echo escaped; newgrp nogroup ` +
			`</dev/null && id | grep -q gid=65534 && echo escaped`,
		"become root": python("import os\nos.setuid(0)\nprint('escaped')"),
		"setuid programs by chmod": `cp /bin/sh s && chmod u+s s && echo escaped; chmod 4755 s && echo escaped; chmod ` +
			`g+s s && echo escaped; install -m 4755 /bin/sh s2 && echo escaped`,
		"setuid programs by open": python("import os\nos.open('s3', os.O_CREAT|os.O_WRONLY, 0o4755)\nprint('escaped')"),
		"setuid programs by fchmod": python(
			"import os\nf=os.open('s4', os.O_CREAT|os.O_WRONLY, 0o755)\nos.fchmod(f, 0o6755)\nprint('escaped')"),
		"kill the first":  `kill -9 1; sleep 0.1; [ -d /proc/1 ] || echo escaped`,
		"kill the server": `kill -9 ` + server + ` && [ ` + server + ` -gt 200 ] && echo escaped`,
		"ptrace the first": python(
			"import ctypes\nl=ctypes.CDLL(None,use_errno=True)\nprint('escaped' if l.ptrace(16,1,0,0)==0 else 'no')"),
		"ptrace own": python(
			"import ctypes,os,time\nl=ctypes.CDLL(None)\np=os.fork()\nif p==0:\n  time.sleep(1)\n  " +
				"os._exit(0)\nprint('escaped' if l.ptrace(16,p,0,0)==0 else 'no')"),
		"read memory": python(
			"import ctypes\nl=ctypes.CDLL(None)\nclass V(ctypes.Structure):\n  " +
				"_fields_=[('b',ctypes.c_void_p),('n',ctypes.c_size_t)]\nb=ctypes.create_string_buffer(8)" +
				"\nv=V(ctypes.addressof(b),8)\nprint('escaped' if " +
				"l.process_vm_readv(1,ctypes.byref(v),1,ctypes.byref(v),1,0)>=0 else 'no')"),
		"bpf": python(
			"import ctypes\nl=ctypes.CDLL(None)\nprint('escaped' if l.syscall(321,0,0,0)>=0 else 'no')"),
		"uring": python(
			"import ctypes\nl=ctypes.CDLL(None)\nb=ctypes.create_string_buffer(256)\nprint('escaped' if " +
				"l.syscall(425,8,b)>=0 else 'no')"),
		"user fault": python(
			"import ctypes\nl=ctypes.CDLL(None)\nprint('escaped' if l.syscall(323,0)>=0 else 'no')"),
		"keys": python(
			"import ctypes\nl=ctypes.CDLL(None)\nprint('escaped' if l.syscall(250,0,-3,1)>=0 else 'no')"),
		"memory without a file": python(
			"import ctypes\nl=ctypes.CDLL(None)\nprint('escaped' if l.syscall(319,b'x',0)>=0 else 'no')"),
		"shared memory": python(
			"import ctypes\nl=ctypes.CDLL(None)\nprint('escaped' if l.shmget(0,1<<20,0o1600)>=0 else 'no')"),
		"other architecture": python(
			"import ctypes,mmap\nm=mmap.mmap(-1,4096,prot=7)\nm.write(bytes([0xb8,0x14,0,0,0,0xcd,0x80,0xc3]))\nf=ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nprint('escaped' if f()>0 else 'no')"),
		"terminal": `: </dev/tty && echo escaped; ls /dev/pts && echo escaped`,
		"limits lifted": `ulimit -Hf unlimited && echo escaped; ulimit -Hn 100000 && echo escaped; ulimit ` +
			`-Hv unlimited; ulimit -Hd unlimited && echo escaped`,
		"inherited descriptors": `ls /proc/self/fd | tr '\n' ' ' | grep -qv '^0 1 2 3 $' && ls -l /proc/self/fd && ` +
			`echo escaped`,
		"second stage once more": `FOOTNOTE_SANDBOX=task /proc/1/exe && echo escaped`,
		"host name":              `hostname escaped && hostname`,
		"mounts": `grep -q ' /proc proc ro' /proc/mounts && grep -q ' / tmpfs ro' /proc/mounts && ! ` +
			`grep ' rw' /proc/mounts | grep -vE ' /(dev|proc|tmp|workspace)[ /]' || echo escaped`,
		"number of processes": `echo 4000000 >/proc/sys/kernel/pid_max && echo escaped`,
		"clock":               `date -s 2001-01-01 && echo escaped`,
		"path of the workspace": `grep -F ` + outside +
			` /proc/self/mountinfo /proc/self/mounts /proc/self/mountstats /proc/1/mountinfo /proc/1/cmdline && echo ` +
			`escaped`,
		"cgroup": `mkdir /sys/fs/cgroup/x && echo escaped`,
	}
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		hosts, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		attacks["namespace "+kind] = `own=$(readlink /proc/self/ns/` + kind + `); [ -n "$own" ] && [ "$own" != "` +
			hosts + `" ] || echo escaped`
	}
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		t.Fatal("the attacks need /usr/bin/python3")
	}
	for name, script := range attacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := filepath.Join(t.TempDir(), "w")
			if err := os.Mkdir(own, 0o700); err != nil {
				t.Fatal(err)
			}
			res, err := sandbox.Run(context.Background(), sandbox.Command{
				Dir:    own,
				Script: script,
				Limits: sandbox.Limits{Time: 30 * time.Second},
			})
			if err != nil {
				t.Fatal(err)
			}
			if out := string(res.Output); strings.Contains(out, "escaped") || strings.Contains(out, canary) ||
				res.Ended != "" {
				t.Errorf("%s\ngave %s (ended %q)", script, out, res.Ended)
			}
			t.Logf("%s", res.Output)
		})
	}
}

func TestLimits(t *testing.T) {
	python := func(code string) string { return "python3 -c '" + code + "'" }
	for _, c := range []struct {
		name, script, ended, says string
		limits                    sandbox.Limits
		within                    time.Duration
	}{
		{
			"time", "echo begun; sleep 60", sandbox.ByTime, "begun", sandbox.Limits{Time: 500 * time.Millisecond},
			5 * time.Second,
		},
		{
			"time, deaf to TERM", "trap '' TERM; echo begun; while :; do sleep 1; done", sandbox.ByTime, "begun",
			sandbox.Limits{Time: 500 * time.Millisecond}, 5 * time.Second,
		},
		{"processor", "while :; do :; done", sandbox.ByTime, "", sandbox.Limits{Time: time.Second}, 6 * time.Second},
		{"fork bomb", ":(){ :|:& };:; sleep 30", sandbox.ByProcesses, "", sandbox.Limits{}, 25 * time.Second},
		{
			"threads", python("import threading,time\nthreading.stack_size(65536)\nfor i in range(2000):\n  try: " +
				"threading.Thread(target=time.sleep,args=(30,),daemon=True).start()\n  except RuntimeError: " +
				"pass\ntime.sleep(20)\nprint(\"escaped\")"), sandbox.ByProcesses, "", sandbox.Limits{},
			25 * time.Second,
		},
		{
			"memory of many", "for i in 1 2 3 4; do python3 -c 'b=bytearray(100<<20)\nimport time\ntime.sleep(30)' & " +
				"done; wait", sandbox.ByMemory, "", sandbox.Limits{Memory: 200 << 20}, 25 * time.Second,
		},
		{
			"shared memory", python(
				"import mmap,time\nm=[mmap.mmap(-1,1<<19) for i in range(800)]\nfor x in m: " +
					"x.write(bytes(1<<19))\ntime.sleep(30)"), sandbox.ByMemory, "", sandbox.Limits{Memory: 200 << 20},
			25 * time.Second,
		},
		{"endless output", "yes", sandbox.ByOutput, "y\ny", sandbox.Limits{Flood: 8 << 20}, 20 * time.Second},
		{
			"disk", "i=0; while :; do i=$((i+1)); head -c 8000000 /dev/zero >f$i; done", sandbox.ByDisk, "",
			sandbox.Limits{Disk: 32 << 20}, 20 * time.Second,
		},
		{
			"many files", python(
				"for i in range(10**7):\n  try: open(\"f%d\"%i,\"w\").close()\n  except OSError: pass"), sandbox.ByDisk,
			"", sandbox.Limits{Files: 500}, 28 * time.Second,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := run(t, t.TempDir(), c.script, c.limits)
			if res.Ended != c.ended || res.Exit < 128 || !strings.Contains(string(res.Output), c.says) ||
				strings.Contains(string(res.Output), "escaped") {
				t.Errorf("ended %q, exit %d, output %.300q; want %q and %q", res.Ended, res.Exit, res.Output, c.ended,
					c.says)
			}
			if res.Elapsed > c.within {
				t.Errorf("took %v, want less than %v", res.Elapsed, c.within)
			}
		})
	}
}

// TestExitSignalBeforeKill checks that processes are asked to exit before they are killed when the time is up.
func TestExitSignalBeforeKill(t *testing.T) {
	res := run(t, t.TempDir(), "sleep 60", sandbox.Limits{Time: 500 * time.Millisecond})
	if want := 128 + int(syscall.SIGTERM); res.Exit != want || res.Ended != sandbox.ByTime {
		t.Errorf("exit %d, ended %q; want %d by time", res.Exit, res.Ended, want)
	}
}

// TestSoftLimits checks that limits enforced by the kernel are errors that the command sees, and do not end
// it.
func TestSoftLimits(t *testing.T) {
	for _, c := range []struct {
		script, want string
		limits       sandbox.Limits
	}{
		{"head -c 5000000 /dev/zero >big; stat -c %s big", "1048576", sandbox.Limits{File: 1 << 20}},
		{"python3 -c 'bytearray(900<<20)' 2>&1 | tail -1", "MemoryError", sandbox.Limits{}},
		{"head -c 100000000 /dev/zero >/tmp/big; echo ended", "No space left on device", sandbox.Limits{File: 1 << 30}},
	} {
		if res := run(t, t.TempDir(), c.script, c.limits); !strings.Contains(string(res.Output), c.want) ||
			res.Ended != "" {
			t.Errorf("%s: %q, ended %q; want %q", c.script, res.Output, res.Ended, c.want)
		}
	}
}

func TestOutputKeepsStartAndEnd(t *testing.T) {
	res := run(t, t.TempDir(), "seq 1 100000", sandbox.Limits{Output: 1000})
	out := string(res.Output)
	if len(out) != 1000 || !strings.HasPrefix(out, "1\n2\n3\n") || !strings.HasSuffix(out, "99999\n100000\n") ||
		res.Cut != 500 || res.Dropped != 588895-1000 {
		t.Errorf("%d bytes, cut at %d, %d dropped: %.20q … %q", len(out), res.Cut, res.Dropped, out, out[len(out)-20:])
	}
	if res := run(t, t.TempDir(), "seq 1 100", sandbox.Limits{Output: 1000}); res.Dropped != 0 || res.Cut != 0 ||
		len(res.Output) != 292 {
		t.Errorf("%d bytes, cut at %d, %d dropped", len(res.Output), res.Cut, res.Dropped)
	}
}

// sleepers returns the processes on this system that sleep for that many seconds.
func sleepers(t *testing.T, seconds string) (pids []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if data, err := os.ReadFile(line); err == nil && string(data) == "sleep\x00"+seconds+"\x00" {
			pids = append(pids, line)
		}
	}
	return pids
}

// TestNothingSurvives checks that everything a command leaves behind ends with it.
func TestNothingSurvives(t *testing.T) {
	long := strconv.Itoa(1_000_000_000 + os.Getpid())
	res := run(t, t.TempDir(),
		"(setsid nohup sleep "+long+" >/dev/null 2>&1 &); until pgrep -x sleep >/dev/null; do :; done; echo started",
		sandbox.Limits{})
	if string(res.Output) != "started\n" {
		t.Fatalf("output %q, ended %q", res.Output, res.Ended)
	}
	if pids := sleepers(t, long); len(pids) > 0 {
		t.Errorf("a daemon lives on: %v", pids)
	}
}

func TestCancel(t *testing.T) {
	long := strconv.Itoa(1_100_000_000 + os.Getpid())
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the user went away")
	go func() { // ends when the command has started
		for len(sleepers(t, long)) == 0 && t.Context().Err() == nil {
			runtime.Gosched()
		}
		cancel(gone)
	}()
	begun := time.Now()
	dir := t.TempDir()
	_, err := sandbox.Run(ctx, sandbox.Command{Dir: dir, Script: "echo x >f; sleep 60 & sleep " + long})
	if !errors.Is(err, gone) || time.Since(begun) > 50*time.Second {
		t.Errorf("%v after %v, want %v", err, time.Since(begun), gone)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(data) != "x\n" {
		t.Errorf("what it did before is %q, %v", data, err)
	}
}

func TestNoFolderNoCommand(t *testing.T) {
	if _, err := sandbox.Run(t.Context(), sandbox.Command{
		Dir:    filepath.Join(t.TempDir(), "none"),
		Script: "true",
	}); err == nil {
		t.Error("a command ran in a folder that does not exist")
	}
}

func ExampleExposed() {
	fmt.Println(sandbox.Exposed("/usr/share/footnote") != nil, sandbox.Exposed("/var/lib/footnote"))
	// Output: true <nil>
}
