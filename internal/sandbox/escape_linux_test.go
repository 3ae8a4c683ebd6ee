package sandbox_test

import (
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/sandbox"
)

// prelude is the code that the programs of TestMemoryOfTheKernel share. Each holds more than its limit when it calls
// hold, and at most about 400 MB even if nothing stops it. Then only the time limit ends it.
const prelude = `import ctypes, fcntl, mmap, os, select, socket, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
MB = 1 << 20

def forks(n):
  return next((i for i in range(1, n) if os.fork() == 0), 0)

def hold():
  time.sleep(100)

def prctl(*args):
  return libc.prctl(*[ctypes.c_ulong(a) for a in args])
`

// TestMemoryOfTheKernel runs programs whose memory is not in the counts of resident pages: the kernel has it,
// or no page table shows it. Each must be refused or ended.
func TestMemoryOfTheKernel(t *testing.T) {
	const refused = ""
	for _, c := range []struct{ name, code, ended string }{
		{"page tables", `
maps = [mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | 0x4000, prot=mmap.PROT_READ) for _ in range(60)]
for m in maps:
  for o in range(0, 1 << 30, 2 * MB): m[o]
hold()`, sandbox.ByMemory},
		{"mappings", `
n = 60000
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, ctypes.c_size_t(n * 4096), 1, 0x4022, -1, ctypes.c_long(0))
for i in range(0, n, 2): libc.mprotect(ctypes.c_void_p(at + i * 4096), ctypes.c_size_t(4096), 0)
forks(3)
hold()`, sandbox.ByMemory},
		{"first thread exited", `
forks(4)
def eat():
  while "Z (zombie)" not in open("/proc/%d/status" % os.getpid()).read(): pass
  b = bytearray(30 * MB)
  hold()
  os._exit(0)
threading.Thread(target=eat).start()
libc.syscall({"x86_64": 60}.get(os.uname().machine, 93), 0)`, sandbox.ByMemory},
		{"sockets", `
full, kept = 0, []
for i in range(100):
  pair = socket.socketpair()
  for s in pair:
    try: s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MB)
    except OSError: pass
    s.setblocking(False)
    try:
      while full < 200 * MB: full += s.send(bytes(65536))
    except BlockingIOError: pass
  kept.append(pair)
hold()`, sandbox.ByMemory},
		{"pipes", `
forks(8)
for i in range(110):
  r, w = os.pipe()
  try: fcntl.fcntl(w, 1031, MB)
  except OSError: pass
  os.set_blocking(w, False)
  try:
    while True: os.write(w, bytes(4096))
  except BlockingIOError: pass
  os.close(w)
hold()`, sandbox.ByMemory},
		{"named pipes", `
forks(8)
for i in range(110):
  name = "/tmp/%d-%d" % (os.getpid(), i)
  os.mkfifo(name)
  f = os.open(name, os.O_RDWR | os.O_NONBLOCK)
  os.unlink(name)
  try:
    while True: os.write(f, bytes(4096))
  except BlockingIOError: pass
hold()`, sandbox.ByMemory},
		{"shared memory without pages", `
kept = []
for i in range(12):
  m = mmap.mmap(-1, 16 * MB)
  m.write(bytes(16 * MB))
  m.madvise(mmap.MADV_DONTNEED)
  kept.append(m)
hold()`, refused},
		{"shared memory of 4 GB", `
mmap.mmap(-1, 4096 * MB)
hold()`, refused},
		{"shared memory of a device", `
zero = os.open("/dev/zero", os.O_RDWR)
kept = []
for i in range(12):
  m = mmap.mmap(zero, 16 * MB)
  m.write(bytes(16 * MB))
  m.madvise(mmap.MADV_DONTNEED)
  kept.append(m)
hold()`, refused},
		{"shared memory in pieces", `
kept = []
for i in range(400):
  m = mmap.mmap(-1, MB // 2)
  m.write(bytes(MB // 2))
  m.madvise(mmap.MADV_DONTNEED)
  kept.append(m)
hold()`, sandbox.ByMemory},
		{"huge pages", `
libc.mmap.restype = ctypes.c_void_p
if libc.mmap(None, ctypes.c_size_t(2 * MB), 3, 0x40022, -1, ctypes.c_long(0)) != ctypes.c_void_p(-1).value: hold()`,
			refused},
		{"futex hash", `
if prctl(78, 1, 1 << 21, 0, 0) == 0: hold()`, refused},
		{"events of files", `
n = sum(libc.inotify_init1(0) >= 0 for i in range(16))
if n > 8: hold()`, refused},
		{"polled descriptors", `
forks(2)
files = [os.eventfd(0) if hasattr(os, "eventfd") else libc.eventfd(0, 0) for i in range(60)]
polls = [select.epoll() for i in range(60)]
for f in files:
  for n in range(190, 250):
    os.dup2(f, n)
    for p in polls: p.register(n, select.EPOLLIN)
hold()`, sandbox.ByMemory},
		{"text of descriptors", `
files = [libc.eventfd(0, 0) for i in range(60)]
poll = select.epoll()
for f in files:
  for n in range(100, 250):
    os.dup2(f, n)
    poll.register(n, select.EPOLLIN)
os.closerange(100, 250)
kept = []
for i in range(150):
  f = os.open("/proc/self/fdinfo/%d" % poll.fileno(), os.O_RDONLY)
  os.read(f, 1)
hold()`, sandbox.ByMemory},
		{"locks", `
forks(2)
files = [open("/tmp/%d-%d" % (os.getpid(), i), "w") for i in range(240)]
for f in files:
  for i in range(500, 0, -1): fcntl.lockf(f, fcntl.LOCK_EX, 1, 2 * i)
hold()`, sandbox.ByMemory},
		{"locks of open files", `
with open("/tmp/lock", "w") as f: fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0))
hold()`, refused},
		{"rules of Landlock", `
if libc.syscall(444, struct.pack("QQ", 0, 1), ctypes.c_size_t(16), 0) >= 0: hold()`, refused},
		{"filters of threads", `
filter = b"".join(struct.pack("HBBI", 0x20, 0, 0, 0) for i in range(4095)) + struct.pack("HBBI", 6, 0, 0, 0x7fff0000)
class Program(ctypes.Structure):
  _fields_ = [("n", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
program = Program(4096, filter)
def confine():
  while prctl(22, 2, ctypes.addressof(program), 0, 0) == 0: pass
  time.sleep(100)
threading.stack_size(65536)
for i in range(60): threading.Thread(target=confine, daemon=True).start()
hold()`, sandbox.ByMemory},
		{"asynchronous files", `
if libc.syscall({"x86_64": 206}.get(os.uname().machine, 0), 64, ctypes.byref(ctypes.c_ulong(0))) == 0: hold()`,
			refused},
		{"pages of files in pipes", `
f, (r, w) = os.open("/usr/bin/python3", os.O_RDONLY), os.pipe()
for call in (lambda: os.sendfile(w, f, 0, 4096), lambda: libc.splice(f, None, w, None, 4096, 0) > 0 or 1 / 0):
  try:
    if call(): hold()
  except (OSError, ZeroDivisionError): pass`, refused},
		{"descriptors of one thread", `
if libc.syscall(436, 3, 3, 2) == 0: hold()`, refused},
		{"hidden process", `
if prctl(4, 0, 0, 0, 0) == 0: hold()
os.system("cp /bin/sleep s && chmod 111 s && ./s 100")`, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := run(t, t.TempDir(), "python3 - <<'E'\n"+prelude+c.code+"\nE", sandbox.Limits{
				Memory: 64 << 20,
				Time:   40 * time.Second,
			})
			if res.Ended != c.ended {
				t.Errorf("ended %q, output %.500q; want %q", res.Ended, res.Output, c.ended)
			}
			t.Logf("%v, exit %d: %.300s", res.Elapsed, res.Exit, res.Output)
		})
	}
}
