//go:build unix

// Package release_test checks how a release is packed and installed, with a small script in place of the program.
// scripts/release/trial.sh tries the real one in a bare Debian.
package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/config"
)

const root = "../.."

// run runs a command with a small environment and returns its output and whether it ended with 0.
func run(t *testing.T, env []string, name string, args ...string) (output string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "HOME=" + t.TempDir()}, env...)
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return string(out), err == nil
}

// must runs a command like run does, and fails the test unless the command exits with 0.
func must(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	out, ok := run(t, env, name, args...)
	if !ok {
		t.Fatalf("%s %q failed:\n%s", name, args, out)
	}
	return out
}

// pack runs pack.sh.
func pack(t *testing.T, args ...string) {
	t.Helper()
	must(t, []string{"SOURCE_DATE_EPOCH=1700000000"}, filepath.Join(root, "scripts/release/pack.sh"), args...)
}

// program writes a program that prints its version, and returns its path.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "footnote")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func licences() string { return filepath.Join(root, "LICENSE") }

// release makes a release folder with an archive for this machine.
func release(t *testing.T, version, script string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("pack.sh needs GNU tar, which only Linux has by default; releases are made there")
	}
	out := t.TempDir()
	pack(t, "archive", out, version, runtime.GOOS, runtime.GOARCH, program(t, script), licences())
	pack(t, "finish", out)
	return out
}

func TestInstall(t *testing.T) {
	folder, prefix := release(t, "v1.2.0", "echo footnote v1.2.0"), filepath.Join(t.TempDir(), "a prefix")
	installed := filepath.Join(prefix, "bin", "footnote")
	script := filepath.Join(folder, "install.sh")
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{script}, "installed " + installed + ": footnote v1.2.0\n"},
		{[]string{script}, installed + " is this version already: footnote v1.2.0\n"},
		{[]string{script, "--from", release(t, "v1.2.1", "echo footnote v1.2.1")}, "footnote v1.2.1\n"},
	} {
		out := must(t, nil, "sh", append(step.args, "--prefix", prefix)...)
		if !strings.Contains(out, step.want) || !strings.Contains(out, "checked footnote_1.2.") ||
			!strings.HasSuffix(out, "Next: "+installed+" demo\n") {
			t.Errorf("install.sh %q says\n%s\nwithout %q", step.args, out, step.want)
		}
	}
	if out := must(t, nil, installed, "version"); out != "footnote v1.2.1\n" {
		t.Errorf("installed is %q", out)
	}
	files, _ := filepath.Glob(filepath.Join(prefix, "share/doc/footnote/*"))
	for i, path := range files {
		files[i] = filepath.Base(path)
	}
	want := []string{"INSTALLING.md", "LICENSE", "README.md", "THIRD-PARTY-LICENCES.txt", "footnote.example.yaml"}
	if !slices.Equal(files, want) {
		t.Errorf("beside the program are %q, want %q", files, want)
	}
	must(t, nil, "sh", script, "--uninstall", "--prefix", prefix)
	if left, _ := filepath.Glob(filepath.Join(prefix, "*/*")); !slices.Equal(left, []string{prefix + "/share/doc"}) {
		t.Errorf("--uninstall left %q", left)
	}
}

// TestInstallRefuses checks that install.sh installs nothing that SHA256SUMS does not name, and nothing that does not
// run.
func TestInstallRefuses(t *testing.T) {
	change := func(file string, with func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			t.Helper()
			paths, err := filepath.Glob(filepath.Join(folder, file))
			if err != nil || len(paths) != 1 {
				t.Fatal(paths, err)
			}
			data, err := os.ReadFile(paths[0])
			if err == nil {
				err = os.WriteFile(paths[0], with(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	none := func(*testing.T, string) {}
	for _, test := range []struct {
		name, want, script string
		change             func(*testing.T, string)
		args               []string
	}{
		{name: "a changed archive", want: "is damaged or was changed",
			change: change("*.tar.gz", func(b []byte) []byte { b[len(b)/2] ^= 1; return b })},
		{name: "a longer archive", want: "is damaged or was changed",
			change: change("*.tar.gz", func(b []byte) []byte { return append(b, 0) })},
		{name: "no archive", want: "cannot read", change: func(t *testing.T, folder string) {
			paths, _ := filepath.Glob(filepath.Join(folder, "*.tar.gz"))
			if err := os.Remove(paths[0]); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "no line for this machine", want: "names no archive for",
			change: change("SHA256SUMS", func(b []byte) []byte {
				return bytes.ReplaceAll(b, []byte("_linux_"), []byte("_plan9_"))
			})},
		{name: "two archives for this machine", want: "names several archives",
			change: change("SHA256SUMS", func(b []byte) []byte { return append(b, b...) })},
		{name: "a name that leads elsewhere", want: "names no archive for",
			change: change("SHA256SUMS", func(b []byte) []byte {
				return bytes.ReplaceAll(b, []byte("footnote_"), []byte("../footnote_"))
			})},
		{name: "a program that does not run here", want: "does not run here", script: "exit 1", change: none},
		{name: "an address without encryption", want: "only https:// addresses", change: none,
			args: []string{"--from", "http://127.0.0.1:1/release"}},
		{name: "a folder without a release", want: "is /nowhere a release folder?", change: none,
			args: []string{"--from", "/nowhere"}},
		{name: "an unknown argument", want: "unknown argument --force", change: none, args: []string{"--force"}},
		{name: "an argument without value", want: "--from needs a value", change: none, args: []string{"--from"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder, prefix := release(t, "v1.2.0", max(test.script, "echo footnote v1.2.0")), t.TempDir()
			test.change(t, folder)
			args := append([]string{filepath.Join(folder, "install.sh"), "--prefix", prefix}, test.args...)
			out, ok := run(t, nil, "sh", args...)
			if ok || !strings.Contains(out, test.want) {
				t.Errorf("it succeeded: %v, and printed\n%s\nwithout %q", ok, out, test.want)
			}
			if left, _ := filepath.Glob(filepath.Join(prefix, "*")); len(left) > 0 {
				t.Errorf("it left %q", left)
			}
		})
	}
}

// TestInstallFromAddress installs from a web server, whose certificate must be valid.
func TestInstallFromAddress(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatalf("run scripts/setup.sh test: %v", err)
	}
	folder, prefix := release(t, "v1.2.0", "echo footnote v1.2.0"), t.TempDir()
	server := httptest.NewUnstartedServer(http.StripPrefix("/v1.2.0/", http.FileServer(http.Dir(folder))))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would say that the first client hung up
	server.StartTLS()
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, block, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{filepath.Join(folder, "install.sh"), "--prefix", prefix, "--from", server.URL + "/v1.2.0/"}
	if out, ok := run(t, nil, "sh", args...); ok || !strings.Contains(out, "cannot fetch "+server.URL) {
		t.Errorf("with an unknown certificate it printed\n%s", out)
	}
	out := must(t, []string{"CURL_CA_BUNDLE=" + authority}, "sh", args...)
	if !strings.Contains(out, "installed "+prefix+"/bin/footnote") {
		t.Errorf("it says\n%s", out)
	}
}

// TestPackIsReproducible checks that packing the same program twice gives the same bytes, whatever the time and the
// file modes.
func TestPackIsReproducible(t *testing.T) {
	release(t, "v1.2.0", "exit 0") // skips where it cannot be packed
	var packed [2]map[string]string
	for i := range packed {
		exe := program(t, "echo footnote v1.2.0")
		programs := t.TempDir()
		for _, arch := range []string{"amd64", "arm64"} {
			dir := filepath.Join(programs, "linux_"+arch)
			if err := errors.Join(os.Mkdir(dir, 0o700), os.Link(exe, filepath.Join(dir, "footnote"))); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Unix(int64(1e9*(i+1)), 0)
		if err := errors.Join(os.Chmod(exe, os.FileMode(0o755-i*0o055)), os.Chtimes(exe, now, now)); err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		pack(t, "archive", out, "v1.2.0", "linux", "amd64", exe, licences())
		pack(t, "archive", out, "v1.2.0", "darwin", "arm64", exe, licences())
		pack(t, "archive", out, "v1.2.0", "windows", "amd64", exe, licences())
		pack(t, "container", out, "v1.2.0", programs, licences())
		if _, err := exec.LookPath("dpkg-deb"); err == nil {
			pack(t, "deb", out, "v1.2.0", "arm64", exe, licences())
		}
		pack(t, "finish", out)
		packed[i] = map[string]string{}
		files, _ := filepath.Glob(filepath.Join(out, "*"))
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			packed[i][filepath.Base(path)] = string(data)
		}
	}
	for name, data := range packed[0] {
		if packed[1][name] != data {
			t.Errorf("%s differs between two runs", name)
		}
	}
	for _, name := range []string{"footnote_1.2.0_linux_amd64.tar.gz", "footnote_1.2.0_darwin_arm64_untested.tar.gz",
		"footnote_1.2.0_windows_amd64_untested.zip", "footnote_1.2.0_container.tar.gz", "install.sh", "SHA256SUMS"} {
		if packed[0][name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	names, dockerfile := unpack(t, packed[0]["footnote_1.2.0_container.tar.gz"], "footnote_1.2.0_container/Dockerfile")
	for _, arch := range []string{"amd64", "arm64"} {
		if !slices.Contains(names, "footnote_1.2.0_container/linux_"+arch+"/footnote") {
			t.Errorf("the container's context has no program for %s: %q", arch, names)
		}
	}
	if !strings.HasPrefix(dockerfile, "FROM debian:") || strings.Contains(dockerfile, "--from=") ||
		!strings.Contains(dockerfile, "\nARG TARGETARCH\nCOPY linux_$TARGETARCH/footnote /usr/local/bin/footnote\n") {
		t.Errorf("the container's Dockerfile is\n%s", dockerfile)
	}
	names, note := unpack(t, packed[0]["footnote_1.2.0_darwin_arm64_untested.tar.gz"],
		"footnote_1.2.0_darwin_arm64_untested/UNTESTED.txt")
	if !strings.Contains(note, "Nobody has run it") {
		t.Errorf("the archive for macOS says %q; it has %q", note, names)
	}
}

// unpack returns the names in a tarball, and the content of one of its files.
func unpack(t *testing.T, data, file string) (names []string, content string) {
	t.Helper()
	zipped, err := gzip.NewReader(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewReader(zipped)
	for {
		head, err := files.Next()
		if err == io.EOF {
			return names, content
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, head.Name)
		if head.Name == file {
			all, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			content = string(all)
		}
	}
}

// TestPackage checks the Debian package: its fields, owners and modes, and how its versions follow each other.
func TestPackage(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("only Debian and systems based on it make and install the package: ", err)
	}
	var versions []string // the oldest first
	var path string
	for _, version := range []string{"v0.0.0-9-gabc", "v0.0.0-10-gabc", "v1.2.0-rc1", "v1.2.0-rc1-3-gabc", "v1.2.0",
		"v1.2.0-5-gabc", "v1.2.0-5-gabc-dirty", "v1.10.0"} {
		out := t.TempDir()
		pack(t, "deb", out, version, "amd64", program(t, "exit 0"), licences())
		found, _ := filepath.Glob(filepath.Join(out, "*.deb"))
		if len(found) != 1 {
			t.Fatalf("%s made %q", version, found)
		}
		path = found[0]
		versions = append(versions, strings.TrimSpace(must(t, nil, "dpkg-deb", "--field", path, "Version")))
	}
	for i := range versions[1:] {
		if _, ok := run(t, nil, "dpkg", "--compare-versions", versions[i], "lt", versions[i+1]); !ok {
			t.Errorf("%s is not older than %s", versions[i], versions[i+1])
		}
	}
	if out := must(t, nil, "dpkg-deb", "--info", path, "conffiles"); out != "/etc/footnote/footnote.yaml\n" {
		t.Errorf("settings that an upgrade keeps: %q", out)
	}
	contents := must(t, nil, "dpkg-deb", "--contents", path)
	for _, want := range []string{`-rwxr-xr-x root/root .* ./usr/bin/footnote`,
		`-rw-r--r-- root/root .* ./usr/lib/systemd/system/footnote.service`,
		`-rw-r--r-- root/root .* ./etc/footnote/footnote.yaml`,
		`-rw-r--r-- root/root .* ./usr/share/doc/footnote/copyright`} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(contents) {
			t.Errorf("the package has no %s:\n%s", want, contents)
		}
	}
}

// TestUnit checks the systemd unit: systemd accepts it, it leaves running answers enough time to finish, and it allows
// what the coder's sandbox needs.
func TestUnit(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "scripts/release/footnote.service"))
	if err != nil {
		t.Fatal(err)
	}
	unit := string(data)
	stop, err := time.ParseDuration(regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(unit)[1] + "s")
	if err != nil {
		t.Fatal(err)
	}
	if drain := config.Default().DrainTimeout; stop < drain+10*time.Second {
		t.Errorf("systemd kills the server after %v, but answers may take %v", stop, drain)
	}
	taken := regexp.MustCompile(`(?m)^(RestrictNamespaces|ProtectHostname|ProtectProc|ProcSubset|ProtectKernelTunables|` +
		`ProtectKernelLogs|MemoryDenyWriteExecute|SystemCallFilter|PrivateUsers)=`)
	if found := taken.FindString(unit); found != "" {
		t.Errorf("%s stops the coder's sandbox or the SQL parser", found)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("only a machine that runs systemd can have its verifier: ", err)
	}
	// The program is not installed here.
	copied := filepath.Join(t.TempDir(), "footnote.service")
	here := strings.ReplaceAll(unit, "ExecStart=/usr/bin/footnote", "ExecStart=/bin/true")
	if err := os.WriteFile(copied, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, ok := run(t, nil, "systemd-analyze", "verify", "--man=no", copied); !ok || out != "" {
		t.Errorf("systemd-analyze verify says\n%s", out)
	}
}

// TestScripts has shellcheck read the scripts.
func TestScripts(t *testing.T) {
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Fatalf("run scripts/setup.sh test: %v", err)
	}
	var scripts []string
	for _, pattern := range []string{"scripts/*.sh", "scripts/release/*.sh", "scripts/release/debian/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, found...)
	}
	if out, ok := run(t, nil, "shellcheck", append([]string{"-x", "-P", root}, scripts...)...); !ok {
		t.Error(out)
	}
}

// TestExampleSettings checks that the program accepts the settings file of the package.
func TestExampleSettings(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "scripts/release/footnote.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// With the examples, too.
	all := regexp.MustCompile(`(?m)^# (sources:|  \w+: |model: )`).ReplaceAllString(string(data), "$1")
	for name, text := range map[string]string{"as it is": string(data), "with the examples": all} {
		path := filepath.Join(t.TempDir(), "footnote.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(path, nil, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
