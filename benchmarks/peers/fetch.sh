#!/bin/sh
# Put rageval's peers into a folder: FOLDER/bin/python with their packages, FOLDER/bin/ndeval compiled from C.
#
#     sh benchmarks/peers/fetch.sh peers
#
# Needs Python 3.11 or newer with venv, a C compiler (CC) and a package index. trec_eval is taken from the PATH.
set -eu
folder=${1:?expected a folder to put the peers into}
here=$(cd "$(dirname "$0")" && pwd)
"${PYTHON:-python3}" -m venv "$folder"
pip="$folder/bin/python -m pip --disable-pip-version-check --quiet"
$pip install "setuptools>=77" -r "$here/requirements.txt"
# Without the data-set stack, which its evaluator does not need.
$pip install --no-deps freshstack==0.0.6

# ndeval is in the source package of pyndeval. It refuses numbers above LARGE_ENOUGH, and our queries have
# eight digits; beyond that one line it stays as it is.
source="$folder/source"
rm -rf "$source"
version=$($folder/bin/python -c 'from importlib.metadata import version; print(version("pyndeval"))')
$pip download --no-binary :all: --no-deps --no-build-isolation -d "$source" "pyndeval==$version"
tar -xzf "$source"/pyndeval-*.tar.gz -C "$source" --strip-components=1
sed 's/#define LARGE_ENOUGH 100000$/#define LARGE_ENOUGH 200000000/' "$source/src/ndeval.c" > "$source/ndeval.c"
grep -q 'LARGE_ENOUGH 200000000' "$source/ndeval.c"
${CC:-cc} -O2 -w -o "$folder/bin/ndeval" "$source/ndeval.c" -lm
"$folder/bin/ndeval" -version
