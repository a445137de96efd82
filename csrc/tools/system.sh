#!/bin/sh
# What the build needs of the system: a C and a C++ compiler, Python >= 3.11 with venv and
# headers, LLVM 19..22 with static libraries, zlib and zstd.
#
#     csrc/tools/system.sh STAMP      writes the chosen Python's path to STAMP
#
# Looks first and installs only what is missing: by apt where it may (root, or sudo that
# asks nothing), else it says what to install and fails.
set -u

stamp=$1
newest=22
oldest=19

has() { command -v "$1" >/dev/null 2>&1; }

# A compiler may be several words: CC="ccache cc".
runs() { $1 --version >/dev/null 2>&1; }

# The first Python that is new enough; PYTHON=... chooses for itself.
find_python() {
    for p in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        has "$p" || continue
        "$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        "$p" -c 'import sys; print(sys.executable)'
        return
    done
}

python_is_whole() {
    "$1" -c '
import ensurepip, os, sysconfig, venv
assert os.path.isfile(sysconfig.get_paths()["include"] + "/Python.h")' 2>/dev/null
}

find_llvm() {
    [ -n "${TEGULA_LLVM_CONFIG:-}" ] && { echo "$TEGULA_LLVM_CONFIG"; return; }
    n=$newest
    while [ "$n" -ge "$oldest" ]; do
        for c in "llvm-config-$n" "/usr/lib/llvm-$n/bin/llvm-config" \
                 "llvm-config-$n-64" "/usr/lib64/llvm$n/bin/llvm-config"; do
            has "$c" && [ -f "$("$c" --libdir)/libLLVMCore.a" ] && { echo "$c"; return; }
        done
        n=$((n - 1))
    done
    has llvm-config && [ -f "$(llvm-config --libdir)/libLLVMCore.a" ] &&
        case $(llvm-config --version) in 19.*|20.*|21.*|22.*) echo llvm-config ;; esac
}

has_header() { echo "#include <$1>" | ${CC:-cc} -E - >/dev/null 2>&1; }

# What is missing, as Debian names it. LLVM's own number is settled by find_package.
missing() {
    { runs "${CC:-cc}" && runs "${CXX:-c++}" && has ar && has nm; } || echo build-essential
    python=$(find_python)
    if [ -z "$python" ]; then
        echo PYTHON
    elif ! python_is_whole "$python"; then
        v=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
        echo "$v-venv $v-dev"
    fi
    [ -n "$(find_llvm)" ] || echo LLVM
    if runs "${CC:-cc}"; then
        has_header zlib.h || echo zlib1g-dev
        has_header zstd.h || echo libzstd-dev
    else
        echo zlib1g-dev libzstd-dev
    fi
}

# find_package PREFIX SUFFIX N...: the first package PREFIXnSUFFIX that apt can install.
find_package() {
    prefix=$1 suffix=$2
    shift 2
    for n; do
        apt-cache policy "$prefix$n$suffix" 2>/dev/null | grep -q 'Candidate: [0-9]' &&
            { echo "$n"; return; }
    done
}

packages() {
    for item in $1; do
        case $item in
        LLVM)
            n=$(find_package llvm- -dev 22 21 20 19)
            [ -n "$n" ] || { echo "llvm-$oldest-dev"; continue; }
            echo "llvm-$n-dev"
            # lld is no need, only some ten times faster at linking LLVM's archives.
            [ -n "$(find_package lld- "" "$n")" ] && echo "lld-$n" ;;
        PYTHON)
            n=$(find_package python3. -venv 13 12 11)
            echo "python3.${n:-11}-venv python3.${n:-11}-dev" ;;
        *) echo "$item" ;;
        esac
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    else sudo -n "$@"
    fi
}

want=$(missing | tr '\n' ' ')
if [ -n "$want" ]; then
    if has apt-get && { [ "$(id -u)" = 0 ] || { has sudo && sudo -n true 2>/dev/null; }; }; then
        # One list that cannot be had may be none that we need: installing will tell.
        as_root apt-get -o Acquire::Retries=5 update -qq ||
            echo "tegula: apt-get update failed; trying with the lists that are here" >&2
        list=$(packages "$want" | tr '\n' ' ')
        echo "installing: $list"
        # shellcheck disable=SC2086  # a list of words
        as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get -o Acquire::Retries=5 install -y -qq --no-install-recommends $list >/dev/null || {
            echo "tegula: apt-get could not install: $list" >&2
            exit 1
        }
    fi
    want=$(missing | tr '\n' ' ')
    if [ -n "$want" ]; then
        {
            echo "tegula: the build needs packages that are not here. Debian's names:"
            echo "    apt-get install $(packages "$want" | tr '\n' ' ')"
            echo "Fedora's: gcc gcc-c++ python3-devel llvm-devel llvm-static zlib-devel libzstd-devel"
            echo "Or name what you have: TEGULA_LLVM_CONFIG=.../llvm-config PYTHON=.../python3"
        } >&2
        exit 1
    fi
fi
mkdir -p "$(dirname "$stamp")"
find_python >"$stamp"
