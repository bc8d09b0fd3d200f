#!/usr/bin/env bash
# Installs the heartbeat: has systemd or launchd start the gateway if it is down, and
# Claude look around. The program does it; this finds the program, on PATH or where
# `make build` puts it.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

if command -v bareclaw >/dev/null; then
  program=$(command -v bareclaw)
elif [[ -x $here/../bin/bareclaw ]]; then
  program=$here/../bin/bareclaw
else
  echo "install.sh: bareclaw is neither on PATH nor at $here/../bin/bareclaw; run \`make build\` first" >&2
  exit 1
fi

exec "$program" heartbeat install "$@"
