#!/usr/bin/env bash
# Installs each package of a folder, built if there is none, in an environment of its own, away from the checkout,
# and does there what the README begins with, and what people type first.
#   tests/try_packages.sh [dist [pattern]]
set -euo pipefail
source="$(cd "$(dirname "$0")/.." && pwd)"
examples="$source/examples/data"
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
dist=${1:-$here/dist}
mkdir -p "$dist"
dist="$(cd "$dist" && pwd)"
export PIP_DISABLE_PIP_VERSION_CHECK=1

if [ -z "$(ls "$dist")" ]; then
    "$source/tests/build_packages.sh" "$dist"
fi

rageval() { # what is expected in the output, and what to ask
    local found expected=$1
    shift
    found=$(venv/bin/rageval "$@" 2>>said) || { cat said >&2 && return 1; }
    # shellcheck disable=SC2053 # a pattern
    [[ $found == $expected ]] || { echo "rageval $*: expected $expected, found $found" >&2 && return 1; }
}

try() ( # a package, and a folder for it
    cd "$2"
    python3 -m venv venv
    venv/bin/python -m pip install --quiet "$1"
    venv/bin/python -m pip check >/dev/null
    rageval '*0.5283' "$examples/run.trec" "$examples/qrels.nugget" -m alpha_ndcg@10
    rageval '' judge crag-auto "$examples/answers/crag.answers.jsonl" \
        --questions "$examples/answers/crag.jsonl" --judge exact -o judged.jsonl
    rageval '*-0.4000*-0.6000' judged.jsonl -m crag_score
    rageval '*0.3804,0.5283,12,*' compare "$examples/run.trec" "$examples/baseline.trec" \
        "$examples/qrels.nugget" -m alpha_ndcg@10 --format csv
    venv/bin/python "$source/tests/first_commands.py"
    echo "$(basename "$1"): $(venv/bin/rageval --version)"
)

failed=
started=()
for package in "$dist"/${2:-*}; do
    [ -e "$package" ] || continue
    mkdir "$here/$(basename "$package")"
    try "$package" "$here/$(basename "$package")" & # side by side: it is the pip of each that takes time
    started+=($!)
done
[ ${#started[@]} -gt 0 ] || { echo "$dist: holds no package" >&2 && exit 1; }
for each in "${started[@]}"; do
    wait "$each" || failed=1
done
[ -z "$failed" ]
