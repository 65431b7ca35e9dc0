#!/usr/bin/env bash
# Installs the build folder to a new prefix, then configures, builds and runs the consumer projects, in C++ and in C, against it: once
# through CMake's package, once through pkg-config.
#
#   run.sh SOURCES BUILD WORK CXX CC C_OPTIONS
set -euo pipefail
sources=$1 build=$2 work=$3 cxx=$4 cc=$5
read -r -a c_options <<<"$6"
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/installed" >"$work/install.log"
# Moved, so that nothing may depend on where it was installed.
mv "$work/installed" "$work/prefix"

cmake -S "$sources" -B "$work/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_PREFIX_PATH=$work/prefix"
cmake --build "$work/cmake"
"$work/cmake/consumer"
cmake -S "$sources/c" -B "$work/cmake-c" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_C_FLAGS=$6" \
  "-DCMAKE_PREFIX_PATH=$work/prefix"
cmake --build "$work/cmake-c"
"$work/cmake-c/consumer"

pc=$(dirname "$(find "$work/prefix" -name xflow.pc)")
library=$(PKG_CONFIG_PATH=$pc pkg-config --variable=libdir xflow)
read -r -a flags <<<"$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs xflow)"
"$cxx" -std=c++20 "$sources/consumer.cpp" -o "$work/consumer" "${flags[@]}" "-Wl,-rpath,$library"
"$work/consumer"
"$cc" "${c_options[@]}" "$sources/c/consumer.c" -o "$work/consumer-c" "${flags[@]}" "-Wl,-rpath,$library"
"$work/consumer-c"
# The C interface is valid C++, too.
"$cxx" -std=c++20 -x c++ -Wall -Wextra -Wpedantic -Werror "$sources/c/consumer.c" -x none -o "$work/consumer-c++" "${flags[@]}" "-Wl,-rpath,$library"
"$work/consumer-c++"
echo "works"
