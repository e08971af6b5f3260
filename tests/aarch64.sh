#!/usr/bin/env bash
# The kernel for 64-bit ARM: built by a cross-compiler, its tests run under emulation. Everything stays in build/aarch64.
# Needs Debian 12 with arm64 among its architectures (dpkg --add-architecture arm64; apt-get update) and the packages
# g++-aarch64-linux-gnu and qemu-user. usage: tests/aarch64.sh [tests, by default tests/kernel]
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD/build/aarch64
mkdir -p "$here/packages" "$here/root"

# A Python for ARM with what it links to, unpacked beside the system's own.
if [ ! -x "$here/root/usr/bin/python3.11" ]; then
  (
    cd "$here/packages"
    apt-get download -qq {python3.11-minimal,libpython3.11-minimal,libpython3.11-stdlib,libpython3.11-dev,libc6}:arm64 \
      {libexpat1,zlib1g,libffi8,libssl3,libsqlite3-0,libbz2-1.0,liblzma5,libuuid1,libcrypt1,libgcc-s1,libstdc++6}:arm64
    for package in *.deb; do dpkg-deb -x "$package" "$here/root"; done
  )
fi
if [ ! -d "$here/site" ]; then
  .venv/bin/python -m pip --disable-pip-version-check -q install --target "$here/site" --only-binary=:all: \
    --implementation cp --python-version 3.11 --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 \
    numpy scipy scikit-learn highspy narwhals joblib threadpoolctl jinja2 markupsafe pandas polars pyarrow pytest hypothesis
fi

include=$here/root/usr/include
cmake -S . -B "$here/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release -DOMTREE_DEVELOPER=ON \
  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
  -DCMAKE_CXX_FLAGS="-I$include" -DPython_EXECUTABLE="$PWD/.venv/bin/python" -DPython_INCLUDE_DIR="$include/python3.11"
cmake --build "$here/cmake"
rm -rf "$here/site/omtree"
cp -r src/omtree "$here/site/omtree"
rm -f "$here"/site/omtree/_native*.so
cp "$here"/cmake/_native*.so "$here/site/omtree/_native.so"

export PYTHONHOME=$here/root/usr PYTHONPATH=$here/site:$PWD/tests PYTHONDONTWRITEBYTECODE=1
exec qemu-aarch64 -L "$here/root" "$here/root/usr/bin/python3.11" -m pytest -q --rootdir "$here" -c /dev/null \
  -p no:cacheprovider "${@:-tests/kernel}"
