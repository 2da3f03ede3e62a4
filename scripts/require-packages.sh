# Fails unless the development packages are installed: `npm pack` would create a package without the program and the console.
# A shell script, because the installed Node.js may be too old for the others.
if [ ! -d node_modules/rolldown ] || [ ! -d node_modules/vite ]; then
  echo 'npm pack builds Belfry, and needs the development packages for that: run npm ci first.' >&2
  exit 1
fi
