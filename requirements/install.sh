#!/usr/bin/env bash
# Make .venv from the CPU lock, or leave it alone when it was made from this very lock.
# torch's CPU build is not on the package index: pip finds it where its own settings point,
# else it is fetched from PyTorch's index of CPU builds.
set -euo pipefail
cd "$(dirname "$0")/.."

lock=requirements/cpu.txt
python=${PYTHON:-python3.11}
torch=$(grep '^torch==' "$lock")
stamp=.venv/.lock-sum
want=$(cat "$lock" pyproject.toml | sha256sum | cut -d' ' -f1)

if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ]; then
  exit 0
fi
command -v "$python" > /dev/null || python=python3
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || {
  echo "Python 3.11 is needed, and $python is not it; set PYTHON to one that is." >&2
  exit 1
}
step() { printf '\n==> %s\n' "$*"; }

step "Environment .venv ($("$python" --version))"
[ -x .venv/bin/python ] || "$python" -m venv .venv
pip=(.venv/bin/python -m pip --disable-pip-version-check)
"${pip[@]}" install --quiet --upgrade 'pip>=24' 'setuptools>=77'

step "Packages: $(grep -c '==' "$lock") of them, about 3 GB on disk; some minutes"
"${pip[@]}" install --no-deps "$torch" \
  || "${pip[@]}" install --no-deps --index-url https://download.pytorch.org/whl/cpu "$torch"
"${pip[@]}" install --no-deps --ignore-requires-python -r <(grep -v '^torch==' "$lock")

step "Headworks itself, editable"
"${pip[@]}" install --quiet --no-deps --editable .
echo "$want" > "$stamp"
