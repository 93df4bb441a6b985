#!/usr/bin/env bash
# Tests as the normal user with rootless podman from setup-engines.sh, in a fresh clone, on the newest Node: what a first-time user
# does with the package, and the tests that depend on the user or on Node. They may
# leave nothing in the user's home. Ends with the last line of the tests.
# Usage, as root:
#   .ci/ordinary-user.sh [COMMAND…]    run only this command, in the clone
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=.ci/common.sh
. .ci/common.sh

USER_NAME=bridge-ci
NODE_VERSION=24
uid=$(id -u $USER_NAME)
home=$(getent passwd $USER_NAME | cut -d: -f6)

work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordinary-user.XXXXXX")
trap 'remove "$work"' EXIT
chown $USER_NAME: "$work"
git bundle create --quiet "$work/project.bundle" HEAD
chmod 644 "$work/project.bundle"
give_npmrc $USER_NAME "$work/.npmrc"
mkdir -p "$work/tmp"
chown $USER_NAME: "$work/tmp"
unpack_npm "$(node_package $NODE_VERSION)" "$work/node"
# npm reads the machine's settings next to its Node; servers started by npx see no others.
machine_npmrc=$(npm config get globalconfig 2>/dev/null)
if [[ -s $machine_npmrc ]]; then install -D -m 644 "$machine_npmrc" "$work/node/etc/npmrc"; fi
chmod -R a+rX "$work/node"
as_user() {
  (cd "$work" && setpriv --reuid $USER_NAME --regid $USER_NAME --init-groups \
    env -i PATH="$work/node/bin:$(dirname "$(command -v node)"):/usr/local/bin:/usr/bin:/bin" HOME="$home" USER=$USER_NAME LOGNAME=$USER_NAME SHELL=/bin/bash LANG=C.UTF-8 TERM=xterm-256color XDG_RUNTIME_DIR="/run/user/$uid" \
    TMPDIR="$work/tmp" npm_config_userconfig="$work/.npmrc" npm_config_cache="$work/npm-cache" "${passed_on[@]}" "$@" </dev/null)
}

# Tests set a temporary HOME; this keeps podman's image storage where the user has it.
as_user podman info --format \
  $'[storage]\ndriver = "{{.Store.GraphDriverName}}"\ngraphroot = "{{.Store.GraphRoot}}"\nrunroot = "{{.Store.RunRoot}}"\nrootless_storage_path = "{{.Store.GraphRoot}}"' >"$work/storage.conf"
chmod 644 "$work/storage.conf"
passed_on+=("CONTAINERS_STORAGE_CONF=$work/storage.conf")

# Caches of npm and podman do not count.
list_home() { as_user find "$home" -mindepth 1 -maxdepth 2 ! -path "$home/.npm*" ! -path "$home/.cache" ! -path "$home/.cache/containers" | sort; }
before=$(list_home)
as_user git -c advice.detachedHead=false clone --quiet project.bundle checkout
in_clone() { as_user sh -c 'cd checkout && exec "$@"' sh "$@"; }
if (($# > 0)); then
  in_clone "$@"
  exit
fi
# One failure must not hide the others.
failed=0
try() { in_clone "$@" || failed=1; }
in_clone npm ci
for what in 'npm run demo' test/first-run.sh 'npm run lab -- clients'; do
  # shellcheck disable=SC2086
  named_twice "$what as an ordinary user" in_clone $what || failed=1
done
# as_part TAG LAYER: the tests of a layer whose files have this tag; test/tools/tags.mjs says what the tags mean.
as_part() { try env "MCP_BRIDGE_TEST_TAGS=$1" node scripts/test.mjs "$2"; }
is_full() { [[ ${MCP_BRIDGE_CI_FULL:-} == 1 ]]; }
! is_full || as_part embedded-release integration
passed_on+=("MCP_BRIDGE_TEST_ENGINES=podman-rootless")
if is_full; then
  as_part user-release integration
  as_part user-release faults
  as_part user-release e2e
fi
# The fresh machine runs what needs no engine.
as_part user integration
as_part user e2e
as_part user attacks
left=$(diff <(printf '%s\n' "$before") <(list_home) | sed -n 's/^> //p')
if [[ -n $left ]]; then
  printf "Failed: ordinary-user: left behind in the user's home: %s\n" "$left"
  exit 1
fi
exit $failed
