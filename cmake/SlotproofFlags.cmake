# Warnings and sanitizers, for our own targets only.
add_library(slotproof_flags INTERFACE)
target_compile_options(slotproof_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror>
  # nvcc's line directives break -Wpedantic.
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow --expt-relaxed-constexpr>)
if(SLOTPROOF_SANITIZE)
  target_compile_options(slotproof_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SLOTPROOF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(slotproof_flags INTERFACE -fsanitize=${SLOTPROOF_SANITIZE})
endif()
