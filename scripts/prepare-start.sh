#!/bin/sh
# Before `npm start`: builds the console and the program where something they are made of is newer than they are. By the
# times of files, in a few milliseconds: to ask Node took longer than all the rest of a start.
cd "$(dirname "$0")/.." || exit 1

is_older() {
  made=$1
  shift
  [ ! -e "$made" ] || [ -n "$(find "$@" -newer "$made" ! -path 'console/dist*' -print 2>/dev/null | head -n 1)" ]
}

if is_older console/dist/sources.txt console sdk/inbox/src openapi.json package-lock.json scripts/console.ts scripts/console-types.ts src/core; then
  node scripts/console.ts || exit
fi
if is_older dist/build.txt node_modules/.package-lock.json scripts/build.ts src; then
  node scripts/build.ts || exit
fi
