#!/usr/bin/env bash
# The tests and the benchmarks on a machine that has a GPU, Python, torch and pytest, and neither LLVM,
# a compiler nor a network: from the wheel that `make wheel` left in .whl/.
#
#     tests/gpu.sh suite               every test that takes a GPU, on it
#     tests/gpu.sh sanitizer           the same under compute-sanitizer, three tools (TOOLS); SAMPLE=8: every 8th
#     tests/gpu.sh bench               launch, memory, matmul, attention beside torch and Triton
#     tests/gpu.sh sm80                matmul and attention compiled for sm_80
#     ... suite bench                  one after the other
#
# Logs go to $OUT (build/gpu). LIMIT is a step's seconds (540). The last line is "gpu: all passed", or
# names the steps that were not.
set -uo pipefail
cd "$(dirname "$0")/.."
OUT=$(realpath -m "${OUT:-build/gpu}")
LIMIT=${LIMIT:-540}
PY=$(realpath -s "$(command -v "${PYTHON:-python3}")")
mkdir -p "$OUT"

# A tree of its own: python/tegula beside the tests has no core here, the wheel has.
site=$PWD/build/gpu-site
if [ ! -d "$site/tegula" ] || [ .whl -nt "$site" ]; then
    rm -rf "$site"
    "$PY" -m pip install -q --no-index --no-deps --no-compile --target "$site" .whl/tegula-*.whl || exit
fi
# Without one every test is skipped, and nothing would have failed.
if ! "$PY" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    echo "gpu: torch sees none, so nothing was tested" >&2
    exit 2
fi
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r tests benchmarks tutorials csrc pyproject.toml "$tree"
cd "$tree"
export PYTHONPATH=$site TEGULA_CACHE_DIR=$site/cache PYTHONUNBUFFERED=1
pytest=("$PY" -m pytest -q -o pythonpath= -p no:cacheprovider)
if "$PY" -c 'import xdist' 2>/dev/null; then jobs=(-n "${JOBS:-8}"); else jobs=(); fi
gpu=(tests/kernels tests/ops tests/ops_suite tests/frontend tests/compat)

failed=""
step() {
    local name=$1 code=0
    shift
    echo "== $name"
    timeout -k 10 "$LIMIT" "$@" >"$OUT/$name.log" 2>&1 || code=$?
    tail -n 3 "$OUT/$name.log"
    [ "$code" -eq 0 ] || { failed="$failed $name($code)"; grep -aE '^(FAILED|ERROR)' "$OUT/$name.log" | head -n 20; }
}

# Every allocation by itself, so that one past a tensor's end is nobody else's memory. In parts beside each
# other, because xdist's workers hang under the tool.
sanitizer() {
    local parts=${JOBS:-12} i
    mkdir -p "$OUT/$1"
    step "$1" xargs -P "$parts" -I{} sh -c 'out=$1 tool=$2; shift 2
        PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool "$tool" --error-exitcode 99 "$@" >"$out/$tool/{}.log" 2>&1
        code=$?; echo "part {}: $(grep -aE "passed|failed" "$out/$tool/{}.log" | tail -n 1)" \
            "$(grep -a "SUMMARY" "$out/$tool/{}.log" | tail -n 1)"; exit $code' \
        - "$OUT" "$1" "${pytest[@]}" -k cuda --sample="${SAMPLE:-1}" --shard="{}/$parts" "${gpu[@]}" \
        < <(seq 0 $((parts - 1)))
}

for what in "${@:-suite}"; do
    case $what in
    suite) step suite "${pytest[@]}" ${jobs[@]+"${jobs[@]}"} --full -k cuda "${gpu[@]}" ;;
    sanitizer) for tool in ${TOOLS:-memcheck racecheck synccheck}; do sanitizer "$tool"; done ;;
    bench) step bench "$PY" benchmarks/run.py launch memory matmul attention --device cuda --configs --seconds 0.4 \
        --json "$OUT/bench.json" ;;
    sm80) TEGULA_TARGET=cuda:sm_80 step sm80 "$PY" benchmarks/run.py matmul attention --device cuda --configs \
        --seconds 0.4 --json "$OUT/sm80.json" ;;
    *) echo "no step $what" >&2; exit 2 ;;
    esac
done
echo "gpu:${failed:- all passed}"
[ -z "$failed" ]
