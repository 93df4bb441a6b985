#!/usr/bin/env bash
# Rebuilds CPython for the embedded engine from its pinned sources and compares it, bit for bit, with the committed files:
# rebuild-wasm.sh [DOWNLOAD_FOLDER]. Not part of a normal run, because it takes minutes and needs Debian's mirrors.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sums=$PWD/sandbox-runtime/wasm/artifacts.sha256
started=$SECONDS
sandbox-runtime/wasm/build.sh "$work" "${1:-$work/downloads}"
(cd "$work/out" && sha256sum --check --strict "$sums")
echo "rebuilt CPython for WebAssembly in $((SECONDS - started)) s: identical to the committed files"
