#!/usr/bin/env bash
# Installs each package of a folder in an environment of its own, away from the checkout, and scores a run.
# With RAGEVAL_OFFLINE=1 the packages it needs are those that are here already.
set -euo pipefail
examples="$(cd "$(dirname "$0")/.." && pwd)/examples/data"
dist="$(cd "$1" && pwd)"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"
for package in "$dist"/*.whl "$dist"/*.tar.gz; do
    python -m venv "$here/venv" ${RAGEVAL_OFFLINE:+--system-site-packages}
    "$here/venv/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall \
        ${RAGEVAL_OFFLINE:+--no-deps} "$package"
    found=$("$here/venv/bin/rageval" "$examples/run.trec" "$examples/qrels.nugget" -m alpha_ndcg@10 2>/dev/null)
    case "$found" in
        *0.5283) echo "$(basename "$package"): $("$here/venv/bin/rageval" --version | head -1)" ;;
        *) echo "$(basename "$package"): expected 0.5283, found $found" >&2 && exit 1 ;;
    esac
    rm -rf "$here/venv"
done
