# For scripts in this folder: names what failed, removes folders, and gives another user this machine's access to the npm registry.
# Source it after `cd` to the root of the project.

# named NAME COMMAND…: runs the command. If it fails, says so in a line that `run` repeats at the very end.
named() {
  local name=$1
  shift
  "$@" || {
    local code=$?
    echo "Failed: $name: exit code $code"
    return $code
  }
}

# named_twice NAME COMMAND…: like `named`, but runs the command again if it fails on a busy machine (MCP_BRIDGE_TEST_PATIENCE > 1), as
# scripts/test.mjs does with tests. Marks in front of the lines of the first run keep its results from being counted.
named_twice() {
  local name=$1 log code=0
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 || code=$?
  if ((code != 0 && ${MCP_BRIDGE_TEST_PATIENCE:-1} > 1)); then
    sed 's/^/| /' "$log"
    code=0
    "$@" >"$log" 2>&1 || code=$?
    ((code != 0)) || echo "Passed when run again: $name"
  fi
  cat "$log"
  rm "$log"
  ((code == 0)) || echo "Failed: $name: exit code $code"
  return $code
}

# remove FOLDER: a program that is ending may still write there. What cannot be removed stays, and is no failure.
remove() { rm -rf --one-file-system "$1" || { sleep 3 && rm -rf --one-file-system "$1"; } || true; }

# Variables for `env`, as NAME=VALUE.
passed_on=()
for name in NODE_EXTRA_CA_CERTS SSL_CERT_FILE HTTPS_PROXY HTTP_PROXY NO_PROXY https_proxy http_proxy no_proxy npm_config_registry CI \
  MCP_BRIDGE_TEST_ENGINES MCP_BRIDGE_TEST_REQUIRE_ENGINES MCP_BRIDGE_TEST_FAULTS MCP_BRIDGE_TEST_TAGS MCP_BRIDGE_TEST_PATIENCE \
  MCP_BRIDGE_TEST_FUZZ_RUNS; do
  if [[ -n ${!name:-} ]]; then passed_on+=("$name=${!name}"); fi
done

# give_npmrc USER FILE: copies the current user's npm settings to FILE, owned by USER.
give_npmrc() {
  local npmrc
  npmrc=$(npm config get userconfig 2>/dev/null)
  if [[ -s $npmrc ]]; then install -m 600 -o "$1" -g "$1" "$npmrc" "$2"; else install -m 600 -o "$1" -g "$1" /dev/null "$2"; fi
}

# unpack_npm PACKAGE FOLDER: unpacks an npm package without running its scripts.
unpack_npm() {
  local tarballs
  tarballs=$(mktemp -d)
  npm pack --silent --pack-destination "$tarballs" "$1" >/dev/null
  mkdir -p "$2"
  tar -xf "$tarballs"/*.tgz -C "$2" --strip-components=1 --no-same-owner
  rm -r "$tarballs"
}

# node_package VERSION: prints the npm package with Node for this machine.
node_package() {
  local arch
  arch=$(uname -m)
  case $arch in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
  esac
  printf 'node-linux-%s@%s\n' "$arch" "$1"
}
