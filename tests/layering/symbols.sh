#!/usr/bin/env bash
# libxflow.so exports names of the namespace xflow (not those of its modules) and C functions xflow_*, and nothing else.
set -euo pipefail
library=$1
symbols=$(nm --dynamic --defined-only --demangle --format=posix "$library" | sed -E 's/ [A-Za-z] [0-9a-f]+( [0-9a-f]+)? *$//')
[[ -n $symbols ]] || { echo "$library exports nothing"; exit 1; }

allowed='^(((vtable|typeinfo|typeinfo name) for )?xflow::|xflow_)'
modules='xflow::[a-z_]+::'
foreign=$(grep -Ev "$allowed" <<<"$symbols" || true)
inner=$(grep -E "^((vtable|typeinfo|typeinfo name) for )?$modules" <<<"$symbols" || true)
if [[ -n $foreign$inner ]]; then
  printf 'exports what it should not:\n%s\n%s\n' "$foreign" "$inner"
  exit 1
fi
echo "$(wc -l <<<"$symbols") exported symbols, all of the public API"
