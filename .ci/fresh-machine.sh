#!/usr/bin/env bash
# Tests on the machine of a new user: a Debian 12 root file system with Node 20.19 (the oldest supported), npm, git and a normal user.
# In a fresh clone, that user runs doctor, which must report a sandbox with a layer of the operating system, and the two commands of
# README.md, which must pass. They may leave nothing in the user's home but npm's cache. Ends with the last line of the tests.
# Usage, as root, with mmdebstrap installed:
#   .ci/fresh-machine.sh [COMMAND…]    run only this command, in the clone
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/common.sh
. .ci/common.sh

BRIDGE_CI_DIR=${BRIDGE_CI_DIR:-/var/tmp/bridge-ci}
NODE_VERSION=20.19.0
# The version bundled with Node 20.19.0.
NPM_VERSION=10.8.2
NEW_USER=newcomer
NEW_USER_ID=1000
CHECKOUT=mcp-server-code-execution-mode
archive=$BRIDGE_CI_DIR/fresh-machine-node-$NODE_VERSION.tar

say() { printf 'fresh-machine: %s\n' "$*"; }
fail() { echo "Failed: fresh-machine: $*" && exit 1; }

work=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh-machine.XXXXXX")
chmod 755 "$work"
trap 'remove "$work"' EXIT

build_archive() {
  say "building $archive"
  local root=$work/build
  mmdebstrap --quiet --variant=minbase --include=git,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    bookworm "$root"
  unpack_npm "$(node_package $NODE_VERSION)" "$work/node"
  install -m 755 "$work/node/bin/node" "$root/usr/local/bin/node"
  unpack_npm "npm@$NPM_VERSION" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  chroot "$root" useradd --create-home --shell /bin/bash --uid $NEW_USER_ID $NEW_USER
  tar -C "$root" --one-file-system -cf "$archive.partial" .
  mv "$archive.partial" "$archive"
  rm -rf --one-file-system "$root"
}

[[ -s $archive ]] || build_archive

root=$work/root
home=/home/$NEW_USER
mkdir "$root"
tar -xf "$archive" -C "$root"
# This machine's access to the npm registry: name server, certificates and npm settings.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
give_npmrc $NEW_USER_ID "$root$home/.npmrc"
git bundle create --quiet "$root/project.bundle" HEAD

# Mount options as systemd sets them: a namespace of a normal user cannot lift nosuid, nodev and noexec. Uses pivot_root instead of
# chroot, because the kernel allows no user namespaces in a chroot.
enter='
  set -eu
  root=$1
  shift
  mount --bind "$root" "$root"
  mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
  mount -t sysfs -o nosuid,nodev,noexec sysfs "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$root/dev/shm"
  mount -t tmpfs -o nosuid,nodev,mode=755 tmpfs "$root/run"
  mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$root/tmp"
  cd "$root"
  mkdir -p mnt/old
  pivot_root . mnt/old
  umount -l /mnt/old
  rmdir /mnt/old
  exec "$@"
'
# as_newcomer COMMAND…: runs in the new root file system, as its user, in the user's home.
as_newcomer() {
  unshare --mount --pid --fork --kill-child --propagation private sh -c "$enter" enter "$root" \
    setpriv --reuid $NEW_USER_ID --regid $NEW_USER_ID --init-groups --inh-caps=-all \
    env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=$home USER=$NEW_USER LOGNAME=$NEW_USER SHELL=/bin/bash LANG=C.UTF-8 TERM=xterm-256color "${passed_on[@]}" \
    sh -c 'cd && exec "$@"' sh "$@" </dev/null
}

for name in python3 podman docker bwrap make cc; do
  if as_newcomer sh -c "command -v $name" >/dev/null; then
    fail "$name is installed but should not be"
  fi
done
as_newcomer git -c advice.detachedHead=false clone --quiet /project.bundle $CHECKOUT
in_clone() { as_newcomer sh -c "cd $CHECKOUT && exec \"\$@\"" sh "$@"; }
if (($# > 0)); then
  in_clone "$@"
  exit
fi
in_clone npm ci
named_twice 'npm run demo on a fresh machine' in_clone npm run demo
in_clone sh -c 'node dist/cli.js doctor' | tee "$work/doctor.txt" || true
if ! grep -Eq '^Sessions run on embedded.*unshare' "$work/doctor.txt"; then
  fail 'doctor does not report that sessions run in the unshare layer'
fi
in_clone npm test -- all | tee "$work/tests.txt"
if grep -q '^Not covered: embedded: ' "$work/tests.txt"; then
  fail 'the tests could not use the embedded engine'
fi
left=$(cd "$root$home" && find . -mindepth 1 -maxdepth 1 ! -name .npm ! -name .npmrc ! -name $CHECKOUT ! -name '.bash*' ! -name .profile)
if [[ -n $left ]]; then
  # What is in there says which test wrote it.
  (cd "$root$home" && find $left -type f | while read -r file; do echo "$file: $(head -c 300 "$file" | tr '\n\0' '  ')"; done)
  fail "left behind in the user's home:" $left
fi
