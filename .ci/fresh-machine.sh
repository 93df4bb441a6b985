#!/usr/bin/env bash
# Runs the two commands of README.md in a clean clone on a machine with nothing but Node, npm, git and a shell: the engines
# and Python of this machine are hidden. Needs bubblewrap for that, outside. Ends with the last line of the tests.
# Usage: .ci/fresh-machine.sh [COMMAND…]    instead of the two commands, this one
set -euo pipefail
cd "$(dirname "$0")/.."

checkout=$(mktemp -d)
trap 'rm -rf "$checkout"' EXIT
git clone --quiet . "$checkout"

hidden=()
for folder in /usr/bin /usr/sbin /usr/local/bin; do
  for name in 'python*' 'podman*' 'docker*' bwrap; do
    while IFS= read -r path; do hidden+=(--ro-bind /dev/null "$path"); done < <(find "$folder" -maxdepth 1 -name "$name")
  done
done

fresh() {
  bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid --die-with-parent \
    --tmpfs /run --tmpfs "$HOME" --ro-bind-try "$HOME/.npmrc" "$HOME/.npmrc" --tmpfs /tmp --bind "$checkout" /tmp/checkout "${hidden[@]}" \
    --chdir /tmp/checkout --clearenv --setenv PATH "$(dirname "$(command -v node)"):/usr/local/bin:/usr/bin:/bin" --setenv HOME "$HOME" "$@"
}

for name in python3 podman docker bwrap; do
  if fresh sh -c "command -v $name" >/dev/null; then echo "fresh-machine: $name is still there" >&2; exit 1; fi
done
if (($# > 0)); then
  fresh "$@"
  exit
fi
fresh sh -c 'npm ci && npm run demo'
fresh sh -c 'npm ci && npm test'
