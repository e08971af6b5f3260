#!/usr/bin/env bash
# The kernel built by another compiler with its warnings as errors, and tests run with it, in build/compilers; needs
# `make build` for the packages of the tests. usage: tests/compiler.sh clang++-16 [tests, by default tests/kernel]
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=$1
shift
here=$PWD/build/compilers/$(basename "$compiler")
python=$(.venv/bin/python -c "import sys; print(sys._base_executable)")
packages=$(.venv/bin/python -c "import sysconfig; print(sysconfig.get_path('platlib'))")
export PATH=$PWD/.venv/bin:$PATH
cmake -S . -B "$here/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release -DOMTREE_DEVELOPER=ON \
  -DCMAKE_CXX_COMPILER="$compiler" -DPython_EXECUTABLE="$PWD/.venv/bin/python"
cmake --build "$here/cmake"
rm -rf "$here/site"
mkdir "$here/site"
cp -r src/omtree "$here/site/omtree"
rm -f "$here"/site/omtree/_native*.so
cp "$here"/cmake/_native*.so "$here/site/omtree/"

# Not the virtual environment itself, whose omtree is the one installed there.
export PYTHONPATH=$here/site:$packages PYTHONDONTWRITEBYTECODE=1
"$python" -c "from omtree import _native; print(_native.__file__, _native.kernels_in_use())"
exec "$python" -m pytest -q -p no:cacheprovider "${@:-tests/kernel}"
