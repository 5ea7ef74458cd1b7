#!/bin/sh
# Installs Tile by Tile from this folder, without a network:  sh install.sh [FOLDER]   (default: ~/tile-by-tile)
# A second run repairs the environment and never touches an existing notebook or puzzle.
set -eu
pack=$(cd "$(dirname "$0")" && pwd)
to=${1:-"$HOME/tile-by-tile"}

for python in ${PYTHON:-@PYTHONS@ python3}; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || continue
    case " @VERSIONS@ " in *" $version "*) break ;; esac
    version=
done
if [ -z "${version:-}" ]; then
    echo "This pack is for Python @VERSIONS@ on Linux, but this machine has none of them. Debian, Ubuntu: sudo apt install python3 python3-venv" >&2
    exit 1
fi

mkdir -p "$to"
(cd "$pack/course" && find . -type f) | while read -r file; do
    if [ ! -e "$to/$file" ]; then
        mkdir -p "$to/$(dirname "$file")"
        cp "$pack/course/$file" "$to/$file"
    fi
done

echo "Installing into $to/.venv with Python $version. This takes a minute or two."
"$python" -m venv @VENV_OPTIONS@ "$to/.venv"
"$to/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$pack/wheels" \
    --requirement "$pack/requirements.txt"
cd "$to"
.venv/bin/python -m checker doctor --workshop
echo
echo "Open the first notebook:"
echo "    cd $to && .venv/bin/jupyter lab notebooks/00_start_here.ipynb"
