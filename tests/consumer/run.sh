#!/usr/bin/env bash
# Installs the build folder to a new prefix, then configures, builds and runs the consumer project against it: once through CMake's
# package, once through pkg-config.
#
#   run.sh SOURCES BUILD WORK CXX
set -euo pipefail
sources=$1 build=$2 work=$3 compiler=$4
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/installed" >"$work/install.log"
# Moved, so that nothing may depend on where it was installed.
mv "$work/installed" "$work/prefix"

cmake -S "$sources" -B "$work/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=$compiler" "-DCMAKE_PREFIX_PATH=$work/prefix"
cmake --build "$work/cmake"
"$work/cmake/consumer"

pc=$(dirname "$(find "$work/prefix" -name xflow.pc)")
library=$(PKG_CONFIG_PATH=$pc pkg-config --variable=libdir xflow)
read -r -a flags <<<"$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs xflow)"
"$compiler" -std=c++20 "$sources/consumer.cpp" -o "$work/consumer" "${flags[@]}" "-Wl,-rpath,$library"
"$work/consumer"

"$work/prefix/bin/xflow" version
echo "works"
