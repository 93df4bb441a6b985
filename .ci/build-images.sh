#!/usr/bin/env bash
# Builds the test images from Debian packages and imports them into podman (root), podman (normal user) and docker.
# Safe to run again: archives are kept in $BRIDGE_CI_CACHE, and an engine that has the current image is skipped.
# Usage, as root, after setup-engines.sh start:
#   .ci/build-images.sh [ENGINE…]    engines: podman podman-rootless docker (default: all)
#
#   python:3.14-slim                    like the official image: Python without compiled files
#   localhost/bridge-python:3.14-pyc    the same with compiled files
#   localhost/bridge-datascience:3.14   with the packages that docs/packages.md names for an image without a registry
#   node:24-slim, golang:1.26           what programs in other languages run in, in the version that Debian has
set -euo pipefail

BRIDGE_CI_CACHE=${BRIDGE_CI_CACHE:-/var/tmp/bridge-ci/images}
ROOTLESS_USER=bridge-ci
SUITE=forky
# Other programs, libraries and files of the official image that code and wheels in a sandbox may use.
SLIM_PACKAGES=libstdc++6,python3,python3.14,libc-bin,tzdata,base-files,base-passwd,dash,bash,coreutils,grep,sed,findutils,debianutils
BASE_PACKAGES=libc-bin,tzdata,base-files,base-passwd,dash,bash,coreutils,grep,sed,findutils,debianutils,tar
DATASCIENCE_PACKAGES=$SLIM_PACKAGES,python3-pandas,python3-scipy,python3-sklearn,python3-matplotlib,python3-pil
DATASCIENCE_PACKAGES+=,python3-openpyxl,python3-docx,python3-pypdf,python3-reportlab,python3-icalendar

say() { printf 'build-images: %s\n' "$*"; }

# build NAME MMDEBSTRAP-ARGUMENT…: builds the archive NAME.tar, atomically, unless it was built with the same arguments.
build() {
  local archive=$BRIDGE_CI_CACHE/$1.tar
  shift
  if [[ -s $archive && $(cat "$archive.arguments" 2>/dev/null) == "$SUITE $*" ]]; then
    say "$archive exists"
    return
  fi
  say "building $archive"
  mmdebstrap --quiet --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$@" "$SUITE" "$archive.partial.tar"
  mv "$archive.partial.tar" "$archive"
  printf '%s' "$SUITE $*" >"$archive.arguments"
}

build_all() {
  # Only unpacked: maintainer scripts do not run, so nothing is compiled, as in the official slim image.
  local users='cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"; cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"'
  build python-slim --variant=extract --include="$SLIM_PACKAGES" --customize-hook="$users"
  build python-pyc --variant=extract --include="$SLIM_PACKAGES" --customize-hook="$users" \
    --customize-hook='chroot "$1" python3 -m compileall -q /usr/lib/python3.14'
  build node-slim --variant=extract --include="$BASE_PACKAGES,nodejs" --customize-hook="$users"
  build golang --variant=extract --include="$BASE_PACKAGES,golang-go" --customize-hook="$users"
  # Another name whenever the packages change: an archive that exists is not built again.
  build datascience-2 --variant=apt --include="$DATASCIENCE_PACKAGES" --customize-hook="$users"
}

as_rootless() {
  local uid
  uid=$(id -u "$ROOTLESS_USER")
  (cd / && setpriv --reuid "$ROOTLESS_USER" --regid "$ROOTLESS_USER" --init-groups \
    env -i PATH="$PATH" HOME="$(getent passwd "$ROOTLESS_USER" | cut -d: -f6)" USER="$ROOTLESS_USER" \
    XDG_RUNTIME_DIR="/run/user/$uid" "$@")
}

# give ENGINE ARCHIVE IMAGE: imports the archive, unless the engine has already imported this version.
give() {
  local engine=$1 archive=$BRIDGE_CI_CACHE/$2.tar image=$3 run=env
  local command=podman quiet=--quiet
  if [[ $engine == docker ]]; then command=docker quiet=; fi
  if [[ $engine == podman-rootless ]]; then run=as_rootless; fi
  local stamp have
  stamp=$(stat -c '%s-%Y' "$archive")
  have=$($run "$command" image inspect --format '{{index .Config.Labels "bridge-ci.archive"}}' "$image" 2>/dev/null || true)
  if [[ $have == "$stamp" ]]; then
    say "$engine has $image"
    return
  fi
  $run "$command" import $quiet --change "LABEL bridge-ci.archive=$stamp" - "$image" <"$archive" >/dev/null
  say "$engine got $image"
}

install -d -m 755 "$BRIDGE_CI_CACHE"
build_all
engines=("$@")
((${#engines[@]} > 0)) || engines=(podman podman-rootless docker)
for engine in "${engines[@]}"; do
  case $engine in
    podman | podman-rootless) prefix=localhost/ ;;
    docker) prefix= ;;
    *)
      printf 'build-images: unknown engine %s; use podman, podman-rootless or docker\n' "$engine" >&2
      exit 64
      ;;
  esac
  # podman finds images of the host `localhost` by their short name, so the default image name works unchanged.
  give "$engine" python-slim "${prefix}python:3.14-slim"
  give "$engine" node-slim "${prefix}node:24-slim"
  give "$engine" golang "${prefix}golang:1.26"
  give "$engine" python-pyc localhost/bridge-python:3.14-pyc
  give "$engine" datascience-2 localhost/bridge-datascience:3.14
done
