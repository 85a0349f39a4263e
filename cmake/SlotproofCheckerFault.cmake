# A planted fault of a checker is a patch of its sources, linked with the tests that must see it: <build>/faults/checkers/<name>.
#
#   slotproof_add_checker_fault(NAME name PATCH file SOURCES file... TESTS stem...)
#
# SOURCES are the files to compile, relative to the project: those that the patch changes, or that include a header that it changes.
# Everything else is the build's own: a patched object stands before the library that has the same symbols, so its own is not taken,
# and where it would be, the link fails by defining them twice. TESTS are tests of slotproof_checker_tests by their files' stems.

include(SlotproofFault)

function(slotproof_add_checker_fault)
  cmake_parse_arguments(PARSE_ARGV 0 fault "" "NAME;PATCH" "SOURCES;TESTS")
  set(overlay "${CMAKE_CURRENT_BINARY_DIR}/overlay/${fault_NAME}")
  slotproof_add_overlay("${fault_NAME}" "${fault_PATCH}" "${overlay}" ${fault_SOURCES})
  string(REPLACE ";" "|" stems "${fault_TESTS};main")
  set(target "slotproof_checker_fault_${fault_NAME}")
  add_executable(${target} ${fault_overlay_files} "$<FILTER:$<TARGET_OBJECTS:slotproof_checker_tests>,INCLUDE,/(${stems})\\.cpp\\.o$>")
  target_include_directories(${target} BEFORE PRIVATE "${overlay}")
  target_link_libraries(${target} PRIVATE slotproof_harness GTest::gtest rapidcheck)
  target_compile_options(${target} PRIVATE -O0)  # compiled by the dozen
  target_link_options(${target} PRIVATE LINKER:--strip-all)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${fault_NAME}" RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/faults/checkers" LINKER_LANGUAGE CXX)
endfunction()
