#!/usr/bin/env bash
# Builds CPython as a WASI reactor: build.sh WORK_FOLDER [DOWNLOAD_FOLDER]
#
# Writes python.wasm, stdlib.pack and licenses/ to WORK_FOLDER/out. The result is reproducible bit for bit, whatever
# the folder, time and user; the settings below ensure that. Needs Debian 12 on amd64 with
# curl, gcc, make, patch and the decompressors; installs nothing and needs no root. README.md describes the steps.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mkdir -p "$1" && cd "$1" && pwd)
downloads=$(mkdir -p "${2:-$work/downloads}" && cd "${2:-$work/downloads}" && pwd)
jobs=$(nproc)

# -- Settings for every step -----------------------------------------------------------------------------------------

# For a reproducible result: a fixed timestamp (the release day of this Python), no locale, no time zone, no random hash
# order in output of the build's Python. The compiler wrapper and make_pack.py replace paths of this machine.
export SOURCE_DATE_EPOCH=1785888000 LC_ALL=C TZ=UTC PYTHONHASHSEED=0
umask 022

llvm=$work/toolchain/usr/lib/llvm-19
sysroot=$work/toolchain/usr

# Size of the stack in linear memory in bytes, and how much of it Python may use before it raises RecursionError. The rest
# is for C code without checks (SQLite, regular expressions). README.md, "Recursion", has the measurements.
stack_bytes=2097152
python_stack_bytes=1572864

log() { echo "build.sh: $*" >&2; }

# quiet NAME COMMAND...: writes output to a log file whose end is shown only if the command fails.
quiet() {
  local log_file=$work/logs/$1.log
  shift
  mkdir -p "$work/logs"
  "$@" >"$log_file" 2>&1 || { tail -n 40 "$log_file" >&2; log "failed: $*"; exit 1; }
}

# unpack FOLDER NAME_OF_SOURCE
unpack() {
  local path
  path=$(awk -v name="$2" '$1 == name { print $4 }' "$here/sources.txt")
  mkdir -p "$work/$1"
  tar --extract --file "$downloads/${path##*/}" --directory "$work/$1" --strip-components 1
}

# -- Steps -----------------------------------------------------------------------------------------------------------

make_toolchain() {
  local path tool
  mkdir -p "$work/toolchain" "$work/bin"
  while read -r _ _ _ path; do
    dpkg --extract "$downloads/${path##*/}" "$work/toolchain"
  done < <(grep '\.deb$' "$here/sources.txt")
  # clang expects the linker and compiler-rt under different names than in Debian's packages.
  ln -sf wasm-ld "$llvm/bin/wasm-ld-19"
  mkdir -p "$llvm/lib/clang/19/lib/wasm32-unknown-wasip1"
  ln -sf ../wasi/libclang_rt.builtins-wasm32.a "$llvm/lib/clang/19/lib/wasm32-unknown-wasip1/libclang_rt.builtins.a"
  for tool in clang clang++; do
    write_wrapper "$tool" --target=wasm32-wasip1 "--sysroot=$sysroot" "-ffile-prefix-map=$work=/build"
  done
  for tool in llvm-ar llvm-ranlib llvm-strip; do write_wrapper "$tool"; done
}

# write_wrapper TOOL ARGUMENTS...: writes a program to bin/ that runs the tool with its own libraries and these arguments.
write_wrapper() {
  local tool=$1
  shift
  cat >"$work/bin/$tool" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$work/toolchain/usr/lib/x86_64-linux-gnu:$llvm/lib PATH=$llvm/bin:\$PATH
exec $llvm/bin/$tool $* "\$@"
END
  chmod +x "$work/bin/$tool"
}

cc() { "$work/bin/clang" -O2 -w "$@"; }

# compile_library NAME SOURCE_FOLDER FILES... -- FLAGS...
compile_library() {
  local name=$1 folder=$2 objects=() file
  shift 2
  mkdir -p "$work/libs/obj/$name" "$work/libs/lib" "$work/libs/include"
  local files=()
  while [[ $1 != -- ]]; do files+=("$1"); shift; done
  shift
  for file in "${files[@]}"; do
    cc "$@" -c "$folder/$file.c" -o "$work/libs/obj/$name/$file.o"
    objects+=("$work/libs/obj/$name/$file.o")
  done
  "$work/bin/llvm-ar" rcsD "$work/libs/lib/lib$name.a" "${objects[@]}"
}

build_zlib() {
  unpack zlib zlib
  compile_library z "$work/zlib" adler32 compress crc32 deflate inffast inflate inftrees trees uncompr zutil --
  cp "$work/zlib/"{zlib,zconf}.h "$work/libs/include/"
}

build_bzip2() {
  unpack bzip2 bzip2
  compile_library bz2 "$work/bzip2" blocksort huffman crctable randtable compress decompress bzlib --
  cp "$work/bzip2/bzlib.h" "$work/libs/include/"
}

build_lzma() {
  unpack xz xz
  mkdir -p "$work/xz-build"
  (
    cd "$work/xz-build"
    CC=$work/bin/clang AR=$work/bin/llvm-ar RANLIB=$work/bin/llvm-ranlib CFLAGS='-O2 -w' quiet xz-configure \
      ../xz/configure --host=wasm32-wasi --disable-shared --enable-threads=no --disable-nls --disable-doc \
      --disable-scripts --disable-xz --disable-xzdec --disable-lzmadec --disable-lzmainfo
    quiet xz-make make -j"$jobs" -C src/liblzma
  )
  cp "$work/xz-build/src/liblzma/.libs/liblzma.a" "$work/libs/lib/"
  cp -r "$work/xz/src/liblzma/api/"* "$work/libs/include/"
}

build_sqlite() {
  unpack sqlite sqlite
  mkdir -p "$work/sqlite-build"
  (
    cd "$work/sqlite-build"
    quiet sqlite-configure ../sqlite/configure
    quiet sqlite-make make sqlite3.c
  )
  # One thread, no shared libraries, no shared memory (WAL, mmap); long double is a slow library call in WASM.
  compile_library sqlite3 "$work/sqlite-build" sqlite3 -- \
    -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_OMIT_WAL -DSQLITE_MAX_MMAP_SIZE=0 \
    -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_MATH_FUNCTIONS -DLONGDOUBLE_TYPE=double \
    -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_MMAN
  cp "$work/sqlite-build/sqlite3.h" "$work/libs/include/"
}

# The Python that freezes modules and compiles the standard library. Its speed hardly matters.
build_native_python() {
  unpack python-src python
  mkdir -p "$work/python-native"
  (
    cd "$work/python-native"
    OPT='-O1 -DNDEBUG' quiet native-configure ../python-src/configure --without-ensurepip --disable-test-modules
    quiet native-make make -j"$jobs" python
  )
}

patch_python() {
  local file
  for file in "$here/patches/"*.patch; do
    patch --directory "$work/python-src" --strip 1 --silent --no-backup-if-mismatch <"$file"
  done
}

configure_python() {
  local config_site=$work/config.site
  # time.sleep must wait in select(), which the host can interrupt; wasi-libc's nanosleep reports an error then.
  {
    cat "$work/python-src/Tools/wasm/wasi/config.site-wasm32-wasi"
    printf 'ac_cv_%s_nanosleep=no\n' func lib_rt func_clock lib_rt_clock
  } >"$config_site"
  CONFIG_SITE=$config_site PKG_CONFIG=/bin/false \
    CC=$work/bin/clang CPP="$work/bin/clang -E" CXX=$work/bin/clang++ \
    AR=$work/bin/llvm-ar RANLIB=$work/bin/llvm-ranlib \
    OPT=-DNDEBUG CFLAGS='-O3 -mtail-call -w' CPPFLAGS="-D_Py_LINKER_THREAD_STACK_SIZE=$python_stack_bytes" \
    ZLIB_CFLAGS="-I$work/libs/include" ZLIB_LIBS="-L$work/libs/lib -lz" \
    BZIP2_CFLAGS="-I$work/libs/include" BZIP2_LIBS="-L$work/libs/lib -lbz2" \
    LIBLZMA_CFLAGS="-I$work/libs/include" LIBLZMA_LIBS="-L$work/libs/lib -llzma" \
    LIBSQLITE3_CFLAGS="-I$work/libs/include" LIBSQLITE3_LIBS="-L$work/libs/lib -lsqlite3" \
    ../python-src/configure --host=wasm32-wasip1 --build=x86_64-pc-linux-gnu \
    --with-build-python=../python-native/python --without-ensurepip --disable-test-modules \
    --with-tail-call-interp --with-pymalloc
}

# Reuses CPython's link command, except for the program's main().
link_reactor() {
  local command
  "$work/bin/clang" -O2 -Wall -Wextra -Werror -I../python-src/Include -I. -c "$here/embed.c" -o embed.o
  command=$(grep --only-matching -E -- '-o python\.wasm Programs/python\.o .*' "$work/logs/python-make.log" | tail -1)
  # shellcheck disable=SC2086  # the link command is a list of words
  "$work/bin/clang" -nostartfiles "$sysroot/lib/wasm32-wasip1/crt1-reactor.o" -Wl,--entry=_initialize \
    -Wl,--import-memory -Wl,--max-memory=4294967296 -Wl,--stack-first -z "stack-size=$stack_bytes" \
    embed.o -o "$work/out/python.wasm" ${command#-o python.wasm Programs/python.o}
  "$work/bin/llvm-strip" --strip-all "$work/out/python.wasm"
}

build_python() {
  mkdir -p "$work/python-wasi"
  (
    cd "$work/python-wasi"
    quiet python-configure configure_python
    quiet python-make make -j"$jobs" python.wasm
    # Also writes the build variables for sysconfig.
    quiet python-variables make pybuilddir.txt
    quiet python-link link_reactor
  )
}

build_pack() {
  "$work/python-native/python" -I -S "$here/make_pack.py" --library "$work/python-src/Lib" \
    --sysconfig "$work/python-wasi/$(<"$work/python-wasi/pybuilddir.txt")" --build-folder "$work" --zoneinfo "$work/toolchain/usr/share/zoneinfo" \
    "$work/out/stdlib.pack"
}

main() {
  local step
  mkdir -p "$work/out"
  for step in make_toolchain build_zlib build_bzip2 build_lzma build_sqlite build_native_python patch_python \
    build_python build_pack; do
    log "$step"
    "$step"
  done
  "$here/collect_licenses.sh" "$work" "$work/out/licenses"
}

"$here/fetch.sh" "$downloads"
main
