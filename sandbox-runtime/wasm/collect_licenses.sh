#!/usr/bin/env bash
# Copies the licenses of everything in python.wasm and stdlib.pack: collect_licenses.sh WORK_FOLDER TARGET
set -euo pipefail
work=$1
target=$(mkdir -p "$2" && cd "$2" && pwd)
python=$work/python-src
documents=$work/toolchain/usr/share/doc

# Prints the comment at the head of a C file.
head_comment() { sed '/\*\//q' "$1"; }

cp "$python/LICENSE" "$target/cpython.txt"
# CPython's list of incorporated software with its licenses (HACL*, Mersenne Twister, tzparse, ...).
cp "$python/Doc/license.rst" "$target/cpython-incorporated-software.txt"
cp "$python/Modules/expat/COPYING" "$target/expat.txt"
head_comment "$python/Modules/_decimal/libmpdec/mpdecimal.h" >"$target/libmpdec.txt"
head_comment "$work/sqlite-build/sqlite3.h" >"$target/sqlite.txt"
cp "$work/zlib/LICENSE" "$target/zlib.txt"
cp "$work/bzip2/LICENSE" "$target/bzip2.txt"
cat "$work/xz/COPYING" "$work/xz/COPYING.0BSD" >"$target/liblzma.txt"
cp "$documents/wasi-libc/copyright" "$target/wasi-libc.txt"
cp "$documents/libclang-rt-19-dev-wasm32/copyright" "$target/llvm-compiler-rt.txt"
cp "$documents/tzdata/copyright" "$target/tzdata.txt"
chmod 644 "$target"/*
