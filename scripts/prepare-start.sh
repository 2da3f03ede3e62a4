#!/bin/sh
# Before `npm start`: builds the console and the program if their sources are newer. It compares file times in a few milliseconds;
# starting Node.js for this took longer than the rest of a start.
cd "$(dirname "$0")/.." || exit 1

is_older() {
  target=$1
  shift
  [ ! -e "$target" ] || [ -n "$(find "$@" -newer "$target" ! -path 'console/dist*' -print 2>/dev/null | head -n 1)" ]
}

if is_older console/dist/sources.txt console sdk/inbox/src openapi.json package-lock.json scripts/console.ts scripts/console-types.ts src/core; then
  node scripts/console.ts || exit
fi
if is_older dist/build.txt node_modules/.package-lock.json scripts/build.ts src; then
  node scripts/build.ts || exit
fi
