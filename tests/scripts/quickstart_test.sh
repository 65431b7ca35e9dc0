#!/usr/bin/env bash
# The quickstart runs without a terminal in the build folder of the tests, rebuilds nothing, and leaves a model and a report.
set -euo pipefail
rm -rf out/quickstart
before=$(stat -c %Y.%i build/release/xflow)
text=$(scripts/quickstart </dev/null 2>&1) || { printf '%s\n' "$text"; exit 1; }
printf '%s\n' "$text"
[[ $(stat -c %Y.%i build/release/xflow) == "$before" ]] || { echo "built the program again"; exit 1; }
model=$(sed -n 's/^model: *//p' <<<"$text") report=$(sed -n 's/^report: *//p' <<<"$text")
[[ -s $model ]] || { echo "no model at '$model'"; exit 1; }
/usr/bin/python3 -m json.tool "$report" >/dev/null
page=$(sed -n 's/^page: *//p' <<<"$text")
[[ $(head -n 1 "$page") == '<!DOCTYPE html>' ]] || { echo "no page at '$page'"; exit 1; }
# Both models were run, whatever came out of it.
/usr/bin/python3 -c 'import json, sys; sys.exit(not json.load(open(sys.argv[1]))["end_to_end"]["run"])' "$report" || { echo "no model was run"; exit 1; }
