#!/usr/bin/env bash
# What a first-time user does, in an empty home and an empty folder: runs the package from its archive through npx, then
# `doctor`, then `install` into the file of a client. The MCP Inspector then runs a cell through the registered command. Ends
# with "first-run: N passed, 0 failed". Needs the built package and the npm registry (for the Inspector). Uses the strongest
# available engine.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
# Programs that are ending may still write there, such as npm its log.
trap 'rm -rf "$work" || { sleep 3 && rm -rf "$work"; } || true' EXIT

INSPECTOR=@modelcontextprotocol/inspector@2.12.0
export npm_config_cache="$work/npm-cache" npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false
npm_config_userconfig=${npm_config_userconfig:-$(npm config get userconfig 2>/dev/null)}
export npm_config_userconfig
mkdir "$work/home" "$work/folder"
tarball=$work/$(cd "$root" && npm pack --silent --ignore-scripts --pack-destination "$work" | tail -1)
export HOME=$work/home
# Rootless podman looks for its images in the home unless this variable names another folder, and clients do not pass the
# variable on.
if [[ -n ${CONTAINERS_STORAGE_CONF:-} ]]; then
  mkdir -p "$HOME/.config/containers"
  cp "$CONTAINERS_STORAGE_CONF" "$HOME/.config/containers/storage.conf"
fi
cd "$work/folder"

passed=0
# check WHAT COMMAND…: the command must succeed.
check() {
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    echo "first-run: ok: $what"
  else
    echo "first-run: failed: $what" >&2
    echo "first-run: $passed passed, 1 failed"
    exit 1
  fi
}
from_archive() { npx --yes --package="$tarball" mcp-server-code-execution-mode "$@"; }
contains() { grep -qF -- "$1" "$2"; }

check 'npx from the archive shows the version' sh -c "npx --yes --package='$tarball' mcp-server-code-execution-mode --version | grep -Eq '^[0-9]+\.[0-9]+\.[0-9]+$'"

from_archive doctor >doctor.txt 2>doctor.log || true
check 'doctor finds an engine' grep -Eq '^Sessions run on (podman|docker|bubblewrap|embedded): ' doctor.txt
check 'doctor reports that no server is configured, and what to do' contains 'no server is configured' doctor.txt
check 'the commands it suggests run unchanged' contains "Run: npx -y --package=$tarball mcp-server-code-execution-mode install CLIENT --import" doctor.txt

mkdir -p "$HOME/.cursor"
printf '{\n  // my servers\n  "mcpServers": {}\n}\n' >"$HOME/.cursor/mcp.json"
cp "$HOME/.cursor/mcp.json" before.json
check 'install writes the registration' from_archive install cursor
check 'the registration is in the file of the client, and its comments are still there' \
  sh -c "grep -q 'mcp-server-code-execution-mode' '$HOME/.cursor/mcp.json' && grep -q '// my servers' '$HOME/.cursor/mcp.json'"
cp "$HOME/.cursor/mcp.json" installed.json
check 'installing twice changes nothing' sh -c "npx --yes --package='$tarball' mcp-server-code-execution-mode install cursor && cmp '$HOME/.cursor/mcp.json' installed.json"

check 'the registration runs the archive that npx was given' contains "--package=$tarball" "$HOME/.cursor/mcp.json"
mkdir -p "$HOME/MCPs" "$HOME/notes"
echo 'hello from a note' >"$HOME/notes/note.txt"
cat >"$HOME/MCPs/files.json" <<SERVERS
{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "."], "cwd": "~/notes" } } }
SERVERS
# The Inspector reads only strict JSON.
grep -v '//' "$HOME/.cursor/mcp.json" >inspected.json
inspect() { npx --yes "$INSPECTOR" --cli --config inspected.json --server code "$@"; }
inspect --method tools/list >tools.json
check 'a client finds one tool, run_python' sh -c "[ \"\$(grep -c '\"name\":' tools.json)\" = 1 ] && grep -q '\"name\": \"run_python\"' tools.json"
inspect --method tools/call --tool-name run_python --tool-arg 'code=6 * 7' >cell.json
check 'a cell runs' grep -Eq '"text": ".*42"' cell.json || cat cell.json >&2
inspect --method tools/call --tool-name run_python --tool-arg 'code=print(await mcp_files.read_text_file(path="note.txt"))' \
  --tool-arg 'servers=["files"]' --tool-arg 'timeout=120' >call.json
check 'a cell calls a server of the user' contains 'hello from a note' call.json

check 'doctor sees the client and the server' sh -c "npx --yes --package='$tarball' mcp-server-code-execution-mode doctor >doctor.txt; grep -q 'Cursor: registered in' doctor.txt && grep -q 'files: ' doctor.txt"
check 'uninstall restores the file' sh -c "npx --yes --package='$tarball' mcp-server-code-execution-mode uninstall cursor && cmp '$HOME/.cursor/mcp.json' before.json"
echo "first-run: $passed passed, 0 failed"
