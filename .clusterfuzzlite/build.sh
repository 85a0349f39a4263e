#!/bin/bash -eu
# What OSS-Fuzz and ClusterFuzzLite run in their builder: from $SRC/slotproof into $OUT, with the compiler, flags and engine that they
# say. `./dev fuzz --oss-fuzz-build DIR` runs it without them.
source="${SLOTPROOF_SOURCE:-$SRC/slotproof}"
build="${WORK:-/tmp}/slotproof-build"

# The builder's libc++ and the distribution's libfmt do not fit together, so fmt's headers alone are used.
cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
  -DCMAKE_CXX_FLAGS="$CXXFLAGS" -DSLOTPROOF_CUDA=OFF -DSLOTPROOF_TESTS=OFF -DSLOTPROOF_FUZZ=ON "-DSLOTPROOF_FUZZING_ENGINE=$LIB_FUZZING_ENGINE"
cmake --build "$build" --target slotproof_fuzz fuzz_replay

# Every case of the vectors is a seed, beside the corpora and what was ever found.
seeds="$(mktemp -d)"
trap 'rm -rf "$seeds"' EXIT
"$build/bin/fuzz_replay" --seeds "$seeds" "$source/property_tests/vectors" >/dev/null
for folder in "$source"/fuzz/corpus/*/; do
  target="$(basename "$folder")"
  cp "$build/bin/fuzz" "$OUT/fuzz_$target"
  max_len="$(python3 "$source/fuzz/engine.py" --max-length "$target")"
  printf '[libfuzzer]\nmax_len = %s\nlen_control = 0\ntimeout = 20\n' "$max_len" >"$OUT/fuzz_$target.options"
  mkdir -p "$seeds/$target"
  cp "$folder"/* "$seeds/$target/"
  if [[ -d "$source/fuzz/regressions/$target" ]]; then cp "$source/fuzz/regressions/$target"/* "$seeds/$target/"; fi
  find "$seeds/$target" -type f -size "+${max_len}c" -delete  # libFuzzer would cut it, and half a case says nothing
  (cd "$seeds/$target" && python3 -m zipfile -c "$OUT/fuzz_${target}_seed_corpus.zip" ./*)
done
