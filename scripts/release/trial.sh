#!/usr/bin/env bash
# Tries the Linux programs of the release in $1 (bin/release) where nothing else is installed: in a bare Debian made by
# debootstrap it installs the package, serves a question over a CSV file up to its answer, upgrades, removes and purges;
# and it does the same with install.sh as an ordinary user. Needs root. SUITE=trixie tries another Debian.
# TRIAL_ARCH=arm64 runs under qemu, which cannot confine a process, so there it only checks that the page is served.
set -euo pipefail
cd "$(dirname "$0")/../.."
while IFS= read -r name; do unset "$name"; done < <(compgen -v ANTHROPIC_ || true)
release=$(realpath "${1:-bin/release}")
suite=${SUITE:-bookworm}
arch=${TRIAL_ARCH:-$(dpkg --print-architecture)}
scripts/setup.sh trial
(cd "$release" && sha256sum --quiet -c SHA256SUMS)
. scripts/release/bare.sh
pid=
tidy() { [ -z "$pid" ] || kill "$pid" 2>/dev/null || true; }
step "a bare root"
bare ""
mkdir -p "$root/mnt"
mount --bind -o ro "$release" "$root/mnt"

# answers starts a server with the given command, asks it a question, looks at the page, and stops it.
answers() {
  local line address='' answer
  rm -f "$work/out"
  mkfifo "$work/out"
  "$@" >"$work/out" 2>"$work/err" &
  pid=$!
  exec 3<"$work/out"
  while IFS= read -r -t 300 line <&3; do
    if [[ $line =~ \"ready\":true,\"listen\":\"([^\"]*)\" ]]; then
      address=${BASH_REMATCH[1]}
      break
    fi
  done
  if [ -z "$address" ]; then
    cat "$work/err" >&2
    return 1
  fi
  cat <&3 >"$work/audit" &
  if [ -z "$emulated" ]; then
    answer=$(curl -fsS -m 300 "http://$address/v1/chat/completions" -H 'content-type: application/json' \
      -d '{"model":"analyst","messages":[{"role":"user","content":"total revenue by region"}]}')
    [[ $answer == *2,540.50* ]] || { echo "unexpected answer: $answer" >&2; return 1; }
    step "answered: North 2,540.50"
  fi
  curl -fsS -m 60 "http://$address/" >"$work/page"
  must grep -q 'id="root"' "$work/page"
  kill "$pid"
  must wait "$pid"
  pid=
  exec 3<&-
  step "showed the page, and stopped with 0"
}

# service runs the command of the unit as its user: there is no systemd in the root.
service() {
  local command
  command=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/footnote.service")
  answers "${inside[@]}" setpriv --reuid footnote --regid footnote --init-groups --no-new-privs --bounding-set=-all \
    --inh-caps=-all env -C /var/lib/footnote FOOTNOTE_LISTEN=127.0.0.1:0 sh -c "umask 077; exec $command"
}

package=$(cd "$release" && echo footnote_*"_$arch.deb")
step "apt-get install $package"
quietly "${inside[@]}" apt-get install -y -q --no-install-recommends "/mnt/$package"
must grep -q 'is installed and not started' "$work/log"
must [ "$("${inside[@]}" stat -c '%a %U:%G' /var/lib/footnote)" = "700 footnote:footnote" ]
must [ "$("${inside[@]}" stat -c '%a %U:%G' /etc/footnote/footnote.yaml)" = "640 root:footnote" ]
"${inside[@]}" footnote version
[ -n "$emulated" ] || printf 'sources:\n  sales: /srv/sales.csv\n' >>"$root/etc/footnote/footnote.yaml"
user=("${inside[@]}" setpriv --reuid footnote --regid footnote --init-groups)
"${user[@]}" footnote doctor --config /etc/footnote/footnote.yaml
service

step "the same package again, as an upgrade"
settings=$(sha256sum "$root/etc/footnote/footnote.yaml")
"${user[@]}" footnote export --data /var/lib/footnote /tmp/before
quietly "${inside[@]}" dpkg -i "/mnt/$package"
must [ "$settings" = "$(sha256sum "$root/etc/footnote/footnote.yaml")" ]
"${user[@]}" footnote export --data /var/lib/footnote /tmp/after
must cmp "$root/tmp/before" "$root/tmp/after"
service

step "removed: settings and data stay"
quietly "${inside[@]}" dpkg --remove footnote
must [ ! -e "$root/usr/bin/footnote" ]
must [ -e "$root/etc/footnote/footnote.yaml" ]
must [ -e "$root/var/lib/footnote/footnote.db" ]
step "purged: data stay"
quietly "${inside[@]}" dpkg --purge footnote
must grep -q 'The conversations stay in /var/lib/footnote' "$work/log"
must [ ! -e "$root/etc/footnote" ]
must [ -e "$root/var/lib/footnote/footnote.db" ]

step "install.sh as an ordinary user"
"${inside[@]}" useradd --create-home ann
ann=("${inside[@]}" setpriv --reuid ann --regid ann --init-groups env -C /home/ann HOME=/home/ann)
"${ann[@]}" sh /mnt/install.sh
"${ann[@]}" sh /mnt/install.sh | grep 'is this version already'
source=()
[ -n "$emulated" ] || source=(--source /srv/sales.csv)
answers "${ann[@]}" .local/bin/footnote serve --listen 127.0.0.1:0 "${source[@]}"
[ -n "$emulated" ] || "${ann[@]}" .local/bin/footnote ask "${source[@]}" "total revenue by region"
"${ann[@]}" sh /mnt/install.sh --uninstall
must [ ! -e "$root/home/ann/.local/bin/footnote" ]
step "everything held"
