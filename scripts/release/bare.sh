# Sourced by trial.sh and boot.sh: makes a bare Debian with debootstrap. Sets work, root, inside and emulated. The
# caller has set suite and arch, and may define tidy, which cleans up after it.
# shellcheck shell=bash disable=SC2034,SC2154 # used and set there
if [ "$(id -u)" != 0 ]; then
  echo "debootstrap and chroot need root" >&2
  exit 1
fi
work=$(mktemp -d)
root=$work/root
registered=
tidy() { :; }
cleanup() {
  tidy
  for mounted in "$root/mnt" "$root/proc"; do
    if mountpoint -q "$mounted"; then umount "$mounted"; fi
  done
  [ -z "$registered" ] || echo -1 >"$registered"
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT
step() { echo "$suite, $arch: $*"; }
# must ends the trial if a command fails.
must() {
  if ! "$@"; then
    echo "check failed: $*" >&2
    exit 1
  fi
}
# quietly shows a command's output only if it fails.
quietly() {
  if ! "$@" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    return 1
  fi
}

# Debian's way to run programs for another processor, for the duration of the trial.
emulated=
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
  emulated=yes
  formats=/proc/sys/fs/binfmt_misc
  [ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats
  if [ ! -e $formats/qemu-aarch64 ]; then
    cat /usr/lib/binfmt.d/qemu-aarch64.conf >$formats/register
    registered=$formats/qemu-aarch64
  fi
fi
inside=(env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root
  DEBIAN_FRONTEND=noninteractive chroot "$root")

# bare creates the root, with the given packages besides the essential ones.
bare() {
  quietly debootstrap --arch="$arch" --variant=minbase ${1:+--include="$1"} "$suite" "$root" \
    "${MIRROR:-http://deb.debian.org/debian}"
  mount -t proc proc "$root/proc"
  printf 'date,region,revenue\n2024-01-03,North,"1,200.50"\n2024-01-09,South,880\n2024-02-11,North,1340\n' \
    >"$root/srv/sales.csv"
}
