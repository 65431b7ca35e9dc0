#!/usr/bin/env bash
# scripts/quickstart and scripts/test share one build: the commands that make the program are the same whichever came first. Clones share
# the compiler's cache: what is compiled depends on no folder.
#
#   shared_build_test.sh DEPS
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
configure() { XFLOW_DEPS_DIR=$1 scripts/configure "${3:-release}" "$2" "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }
commands() { ninja -C "$work/build" -t commands xflow; }

configure "$1" OFF # as the quickstart does
commands >"$work/quickstart"
configure "$1" ON # as the tests do, in the same folder
commands >"$work/test"
rm -rf "$work/build"
configure "$1" ON
commands >"$work/test-first"

(($(wc -l <"$work/quickstart") > 30)) || { echo "too few commands:"; head -3 "$work/quickstart"; exit 1; }
for other in test test-first; do
  cmp -s "$work/quickstart" "$work/$other" || { diff "$work/quickstart" "$work/$other" | head -4 | cut -c 1-300; exit 1; }
done
grep -q -- ' -Werror ' "$work/quickstart" || [[ $(c++ -dumpversion) != 12* ]] || { echo "warnings are no errors"; exit 1; }

# The cache knows paths of included files, sources and outputs as relative ones, but no other. places.cpp alone is compiled with such.
in_folders() {
  ninja -C "$work/build" -t commands all | grep -E -e "-D[^ ]*=[^ ]*(${work}|${PWD}|$1)|-Xclang" | grep -v 'tests/places\.cpp' || true
}
compiled_alike() {
  found=$(in_folders "$1")
  [[ -z $found ]] || { echo "compiled with the path of a folder:"; cut -c 1-300 <<<"$found" | head -3; exit 1; }
  ninja -C "$work/build" -t commands all | grep -c 'tests/places\.cpp' >/dev/null || { echo "no tests/places.cpp"; exit 1; }
}
compiled_alike "$1"
if command -v clang++ >/dev/null; then
  rm -rf "$work/build"
  configure "$1" ON sanitize
  compiled_alike "$1"
fi
echo "works"
