# Warnings and sanitizers, for our own targets only.
add_library(slotproof_flags INTERFACE)
target_compile_options(slotproof_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror>
  # nvcc's line directives break -Wpedantic.
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow --expt-relaxed-constexpr>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlapping copies in std::string's own operator+ (GCC bug 105651).
  target_compile_options(slotproof_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(SLOTPROOF_SANITIZE)
  target_compile_options(slotproof_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SLOTPROOF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(slotproof_flags INTERFACE -fsanitize=${SLOTPROOF_SANITIZE})
endif()
option(SLOTPROOF_FUZZ "Instrument C++ code for libFuzzer (clang only)" OFF)
if(SLOTPROOF_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "SLOTPROOF_FUZZ needs clang; use the preset fuzz")
  endif()
  set(SLOTPROOF_FUZZING_ENGINE "" CACHE STRING "What to link in place of libFuzzer (OSS-Fuzz: $LIB_FUZZING_ENGINE); the caller's flags then instrument")
  if(SLOTPROOF_FUZZING_ENGINE STREQUAL "")
    # Coverage alone, without the tracing of comparisons, which took six tenths of the time: the mutator (fuzz/mutator.h) knows the values
    # that decide. Stacks after their function's return are left to the preset asan.
    target_compile_options(slotproof_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize-coverage=inline-8bit-counters,pc-table
      -fsanitize-address-use-after-return=never -fstrict-flex-arrays=3>)
  else()
    target_compile_options(slotproof_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-error>)  # a compiler of their choice
  endif()
endif()
option(SLOTPROOF_COVERAGE "Count what runs, for llvm-cov (clang only)" OFF)
if(SLOTPROOF_COVERAGE)
  target_compile_options(slotproof_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fprofile-instr-generate -fcoverage-mapping>)
  target_link_options(slotproof_flags INTERFACE -fprofile-instr-generate)
endif()
