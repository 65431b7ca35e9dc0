#!/usr/bin/env bash
# libxflow.so exports names of the namespace xflow (not those of its modules), the C functions that include/xflow/xflow.h declares, all of
# them, and nothing else.
set -euo pipefail
library=$1
symbols=$(nm --dynamic --defined-only --demangle --format=posix "$library" | sed -E 's/ [A-Za-z] [0-9a-f]+( [0-9a-f]+)? *$//')
[[ -n $symbols ]] || { echo "$library exports nothing"; exit 1; }

cpp='^((vtable|typeinfo|typeinfo name) for )?xflow::'
modules='xflow::[a-z_]+::'
foreign=$(grep -Ev "$cpp|^xflow_[a-z_0-9]+$" <<<"$symbols" || true)
inner=$(grep -E "^((vtable|typeinfo|typeinfo name) for )?$modules" <<<"$symbols" || true)
if [[ -n $foreign$inner ]]; then
  printf 'exports what it should not:\n%s\n%s\n' "$foreign" "$inner"
  exit 1
fi
header=$(dirname "${BASH_SOURCE[0]}")/../../include/xflow/xflow.h
declared=$(grep -E '^XFLOW_API ' "$header" | grep -Eo 'xflow_[a-z_0-9]+\(' | tr -d '(' | sort)
[[ -n $declared ]] || { echo "$header declares nothing"; exit 1; }
if ! different=$(diff <(echo "$declared") <(grep -Ev "$cpp" <<<"$symbols" | sort)); then
  printf 'C functions that the header declares (<) and that the library exports (>) differ:\n%s\n' "$different"
  exit 1
fi
echo "$(wc -l <<<"$symbols") exported symbols, all of the public API, $(wc -l <<<"$declared") of them C functions"
