#!/usr/bin/env bash
# Tries the package of the release in $1 (bin/release) as a service: in a virtual machine that boots a bare Debian with
# systemd and no network, it installs the package, starts the service, asks a question, looks whether the coder's
# sandbox works under the unit's restrictions, upgrades, stops and purges. Needs root. The machine is emulated, which
# takes many minutes; ACCEL=kvm makes it quick where that works. TRIAL_ARCH=arm64 emulates that processor; SUITE=trixie tries
# another Debian.
set -euo pipefail
cd "$(dirname "$0")/../.."
release=$(realpath "${1:-bin/release}")
suite=${SUITE:-bookworm}
arch=${TRIAL_ARCH:-$(dpkg --print-architecture)}
scripts/setup.sh boot
(cd "$release" && sha256sum --quiet -c SHA256SUMS)
. scripts/release/bare.sh

step "a bare system with systemd"
bare "systemd-sysv,linux-image-$arch,initramfs-tools,curl"
cp "$release/footnote_"*"_$arch.deb" "$root/srv/footnote.deb"
cat >"$root/usr/local/sbin/trial" <<'END'
#!/bin/bash
set -euo pipefail
ask() {
  curl -fsS --retry 100 --retry-delay 3 --retry-all-errors http://127.0.0.1:8787/readyz >/dev/null
  answer=$(curl -fsS -m 600 --retry 5 --retry-all-errors http://127.0.0.1:8787/v1/chat/completions \
    -H 'content-type: application/json' \
    -d '{"model":"analyst","messages":[{"role":"user","content":"total revenue by region"}]}')
  [[ $answer == *2,540.50* ]] || { echo "unexpected answer: $answer"; return 1; }
  echo "answered: North 2,540.50"
}
trap 'code=$?; [ $code = 0 ] || journalctl -b -u footnote -n 50 --no-pager; echo "TRIAL ENDED WITH $code"' EXIT
uname -srm
dpkg -i /srv/footnote.deb
footnote version
! systemctl is-enabled footnote
! systemctl is-active footnote
cat >>/etc/footnote/footnote.yaml <<'SETTINGS'
sources: {sales: /srv/sales.csv}
workspace: /var/lib/footnote/workspaces
# An emulated machine is slow.
limits: {query_time: 200s}
tool_timeout: 200s
SETTINGS
systemctl enable --now footnote
ask
curl -fsS http://127.0.0.1:8787/ | grep -q 'id="root"'
echo "the page is there"
pid=$(systemctl show -P MainPID footnote)
grep -E '^(Uid|NoNewPrivs|CapBnd)' "/proc/$pid/status"
tools=$(curl -fsS http://127.0.0.1:8787/api/assistants)
[[ $tools == *coder* && $tools == *Bash* ]] || { echo "the coder has no Bash: $tools"; exit 1; }
! journalctl -b -u footnote --no-pager | grep 'has no Bash'
echo "the coder's sandbox works in the service"
systemd-analyze security footnote --no-pager | tail -n 1
dpkg -i /srv/footnote.deb
[ "$pid" != "$(systemctl show -P MainPID footnote)" ]
ask
echo "an upgrade restarted it"
systemctl stop footnote
systemctl show -p Result -p ExecMainStatus footnote
[ "$(systemctl show -P Result footnote)" = success ]
systemctl start footnote
ask
dpkg --purge footnote
! systemctl is-active footnote
[ -e /var/lib/footnote/footnote.db ]
[ ! -e /etc/footnote ]
END
chmod 755 "$root/usr/local/sbin/trial"
console=ttyS0
[ "$arch" = amd64 ] || console=ttyAMA0
cat >"$root/etc/systemd/system/trial.service" <<END
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/trial
ExecStopPost=systemctl poweroff --no-block
StandardOutput=tty
StandardError=tty
TTYPath=/dev/$console
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target
END
ln -s /etc/systemd/system/trial.service "$root/etc/systemd/system/multi-user.target.wants/trial.service"
# Nobody logs in, and the disk is new.
ln -s /dev/null "$root/etc/systemd/system/serial-getty@$console.service"
ln -s /dev/null "$root/etc/systemd/system/e2scrub_reap.service"
umount "$root/proc"
mkfs.ext4 -q -d "$root" -L root "$work/disk" 3G

step "boots"
kernel=$(echo "$root"/boot/vmlinuz-*)
case $arch in
  amd64) machine=(qemu-system-x86_64 -M q35) ;;
  arm64) machine=(qemu-system-aarch64 -M virt) ;;
esac
case ${ACCEL:-tcg}-$arch in
  kvm-*) machine+=(-accel kvm -cpu host) ;;
  tcg-amd64) machine+=(-accel "tcg,thread=multi" -cpu Nehalem) ;;
  tcg-arm64) machine+=(-accel "tcg,thread=multi" -cpu cortex-a72) ;;
esac
timeout 3600 "${machine[@]}" -m 2048 -smp 2 -nic none -vga none -nographic -no-reboot -kernel "$kernel" \
  -initrd "$(echo "$root"/boot/initrd.img-*)" -append "root=LABEL=root rw console=$console quiet" \
  -drive "file=$work/disk,format=raw,if=virtio" </dev/null | sed -u 's|\r||g' | tee "$work/console"
must grep -q '^TRIAL ENDED WITH 0$' "$work/console"
step "everything held"
