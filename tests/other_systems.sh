#!/usr/bin/env bash
# The kernel read, not built, as other systems would: by MinGW for Windows (its headers, 32-bit `long`) and by Clang with
# the C++ library of macOS, warnings as errors. Needs Debian's g++-mingw-w64-x86-64-posix, clang-19 and libc++-19-dev.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t sources < <(find native -name '*.cpp' -not -path 'native/bindings/*' | sort)
for compiler in "x86_64-w64-mingw32-g++-posix" "clang++-19 -stdlib=libc++"; do
  for source in "${sources[@]}"; do
    $compiler -std=c++20 -Wall -Wextra -Werror -Inative -fsyntax-only "$source"
  done
  echo "$compiler: ${#sources[@]} files without a warning"
done
