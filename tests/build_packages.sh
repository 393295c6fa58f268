#!/usr/bin/env bash
# Builds the source package and, of it, both wheels into a folder, and checks them:
#   tests/build_packages.sh dist
set -euo pipefail
source="$(cd "$(dirname "$0")/.." && pwd)"
mkdir -p "$1"
dist="$(cd "$1" && pwd)"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

python3 -m venv "$here/tools"
"$here/tools/bin/python" -m pip install --quiet build 'setuptools>=77' twine
build() {
    "$here/tools/bin/python" -m build --no-isolation --outdir "$dist" "$@" >"$here/log" 2>&1 || {
        cat "$here/log" >&2
        exit 1
    }
}
build "$source" # the wheel is made of the source package
mkdir "$here/source"
tar --extract --gzip --file "$dist"/*.tar.gz --directory "$here/source" --strip-components 1
CC=/bin/false RAGEVAL_REQUIRE_KERNEL=0 build --wheel "$here/source"
ls "$dist"/*-py3-none-any.whl >/dev/null # without a compiler it is plain Python, and its name says so
"$here/tools/bin/python" -m twine --no-color check --strict "$dist"/*
