#!/usr/bin/env bash
# Builds the image of the bridge (Containerfile at the root) and smoke-tests it: its version, its tool, and a cell.
# Usage, with docker, or podman with CONTAINER_ENGINE=podman:
#   .ci/bridge-image.sh build NAME             NAME as in localhost/bridge
#   .ci/bridge-image.sh push NAME VERSION      also pushes NAME:VERSION and NAME:latest, and prints `name=…` and `digest=…`
# NODE_IMAGE names another base image; BUILD_OPTIONS and RUN_OPTIONS are more options for the engine, separated by spaces.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 64
}
(($# >= 2)) || usage
mode=$1
# Registries allow no capital letters, but names of repository owners may have some.
name=${2,,}
engine=${CONTAINER_ENGINE:-docker}
version=$(node --print 'require("./package.json").version')
case $mode in
  build) (($# == 2)) || usage ;;
  push)
    (($# == 3)) || usage
    if [[ $3 != "$version" ]]; then
      echo "bridge-image: the version to push is $3, but package.json has $version" >&2
      exit 1
    fi
    ;;
  *) usage ;;
esac
image=$name:$version

build_arguments=(--build-arg "VERSION=$version")
[[ -z ${NODE_IMAGE:-} ]] || build_arguments+=(--build-arg "NODE_IMAGE=$NODE_IMAGE")
[[ -z ${GITHUB_REPOSITORY:-} ]] || build_arguments+=(--build-arg "SOURCE=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY")
# shellcheck disable=SC2086 # Options are separated by spaces.
"$engine" build --file Containerfile --tag "$image" "${build_arguments[@]}" ${BUILD_OPTIONS:-} . >&2

# expect WHAT WANTED ACTUAL
expect() {
  if [[ $3 != *"$2"* ]]; then
    printf 'bridge-image: %s: expected %s in: %s\n' "$1" "$2" "$3" >&2
    exit 1
  fi
  echo "bridge-image: ok: $1" >&2
}
# Without network, capabilities or a writable root file system, because the image needs none of them.
in_image() {
  # shellcheck disable=SC2086
  "$engine" run --rm --interactive --network=none --cap-drop=ALL --security-opt=no-new-privileges --read-only \
    --tmpfs /tmp --env HOME=/tmp ${RUN_OPTIONS:-} "$image" "$@"
}
expect 'it prints its version' "$version" "$(in_image --version </dev/null)"
expect 'a cell runs' 42 "$(in_image exec -c 'print(6 * 7)' </dev/null)"
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"ci","version":"1"}}}'
list='{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
expect 'a client finds run_python' '"name":"run_python"' \
  "$(printf '%s\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n%s\n' "$hello" "$list" | in_image)"

if [[ $mode == push ]]; then
  "$engine" tag "$image" "$name:latest"
  "$engine" push "$image" >&2
  "$engine" push "$name:latest" >&2
  digest=$("$engine" image inspect --format '{{index .RepoDigests 0}}' "$image")
  printf 'name=%s\ndigest=%s\n' "$name" "${digest#*@}"
fi
