#!/usr/bin/env bash
# Tests of scripts/deps: without root it and the quickstart name what is missing with the line that installs
# it and stop, and what is done is not done twice.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { printf 'failed: %s\n' "$*"; exit 1; }

# A system of an ordinary user where one package is missing.
mkdir "$work/bin"
cat >"$work/bin/dpkg-query" <<'FAKE'
#!/bin/sh
for package; do :; done
[ "$package" = libfmt-dev ] && exit 1
printf installed
FAKE
printf '#!/bin/sh\necho 1000\n' >"$work/bin/id"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/sudo"
chmod +x "$work"/bin/*
status=0
message=$(PATH=$work/bin:$PATH XFLOW_DEPS_DIR=$work/deps scripts/deps 2>&1 </dev/null) || status=$?
[[ $status == 1 ]] || fail "exit status $status without root"
expected='scripts/deps: these packages are missing and installing them needs root: libfmt-dev
Run this once, then start again:
  apt-get update && apt-get install -y --no-install-recommends libfmt-dev'
[[ $message == "$expected" ]] || fail "says: $message"
[[ ! -e $work/deps/prefix ]] || fail "went on after what was missing"
status=0
again=$(PATH=$work/bin:$PATH XFLOW_DEPS_DIR=$work/deps scripts/quickstart 2>&1 </dev/null) || status=$?
[[ $status == 1 && $again == "$expected" ]] || fail "the quickstart ends with $status and says: $again"

status=0
scripts/deps everything >/dev/null 2>&1 || status=$?
[[ $status == 64 ]] || fail "exit status $status for an unknown part"

# This build folder's own dependencies are complete, so nothing is said and nothing done.
message=$(XFLOW_DEPS_DIR=$1 scripts/deps tests 2>&1) || fail "a second time: $message"
[[ -z $message ]] || fail "does again: $message"
echo "works"
