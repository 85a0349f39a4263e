# ccache makes a rebuild from an empty build folder take seconds.
find_program(SLOTPROOF_CCACHE ccache)
if(SLOTPROOF_CCACHE)
  foreach(language CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${SLOTPROOF_CCACHE}")
    endif()
  endforeach()
endif()
