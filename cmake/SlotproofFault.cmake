# A planted fault is a patch of the kernels' sources, built into a plug-in of its own: <build>/faults/<name>.so.
#
#   slotproof_add_fault(NAME name [PATCH file] [FOLDER folder] [ENTRY file] [SOURCES file...])
#   slotproof_add_cuda_fault(NAME name [PATCH file])   the same for the kernels on the GPU: <build>/faults/cuda/<name>.so
#   slotproof_add_fuzz_fault(name patch)   a program slotproof_fuzz_fault_<name> with the patched sources, which the caller links
#
# Without a patch: the kernels as they are, as a control; with one, a kernel of each kind (kernels/compiled_kernels.h).
# FOLDER: under <build>/faults. ENTRY: the source of the exported function, kernels/host_plugin.cpp unless given. SOURCES: further
# sources of the kernels that it needs. Paths are relative to the project.
#
# Only what a patch changes is copied: to an overlay that stands before the source tree on the include path. Only the sources
# that see a change are compiled; all other objects are those of the control. The target is slotproof_fault_<name>.
#
# As a script (cmake -D SOURCE_DIR=... -D OVERLAY=... -D PATCH=... -D FILES=a,b -P this) it makes the overlay.

if(CMAKE_SCRIPT_MODE_FILE)
  find_program(SLOTPROOF_PATCH patch REQUIRED)
  file(REMOVE_RECURSE "${OVERLAY}")
  string(REPLACE "," ";" FILES "${FILES}")
  foreach(file IN LISTS FILES)
    get_filename_component(folder "${OVERLAY}/${file}" DIRECTORY)
    file(COPY "${SOURCE_DIR}/${file}" DESTINATION "${folder}")
  endforeach()
  execute_process(
    COMMAND "${SLOTPROOF_PATCH}" -p1 --fuzz=0 --forward --batch --no-backup-if-mismatch -d "${OVERLAY}" -i "${PATCH}"
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    file(REMOVE_RECURSE "${OVERLAY}")  # No later build takes a half-made one for whole.
    message(FATAL_ERROR "The planted fault ${PATCH} does not apply any more; make it anew:\n${output}")
  endif()
  return()
endif()

find_program(SLOTPROOF_PATCH patch REQUIRED)
set(SLOTPROOF_FAULT_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

# Every file of the kernels that `file` includes, directly or not, and itself. Paths are relative to the project.
function(slotproof_included_files file result)
  get_property(is_known GLOBAL PROPERTY "SLOTPROOF_INCLUDED_BY_${file}" SET)
  if(NOT is_known)
    set(waiting "${file}")
    set(found "")
    while(waiting)
      list(POP_FRONT waiting next)
      if(next IN_LIST found OR NOT EXISTS "${PROJECT_SOURCE_DIR}/${next}")
        continue()
      endif()
      list(APPEND found "${next}")
      file(STRINGS "${PROJECT_SOURCE_DIR}/${next}" lines REGEX "^#include")
      foreach(line IN LISTS lines)
        if(line MATCHES "\"(kernels/[^\"]+)\"")
          list(APPEND waiting "${CMAKE_MATCH_1}")
        elseif(line MATCHES "<(slotproof/[^>]+)>")
          list(APPEND waiting "kernels/include/${CMAKE_MATCH_1}")
        endif()
      endforeach()
    endwhile()
    set_property(GLOBAL PROPERTY "SLOTPROOF_INCLUDED_BY_${file}" "${found}")
  endif()
  get_property(found GLOBAL PROPERTY "SLOTPROOF_INCLUDED_BY_${file}")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# The same for every fault, whatever the build's own: warnings of a faulty source are no news, the checks are the kernel's.
function(slotproof_set_fault_options target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/kernels/include")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
endfunction()

# Copies what the patch changes into the overlay when it is built, and further files as they are. Sets fault_patched, relative to the
# project, and fault_overlay_files for the caller.
function(slotproof_add_overlay name patch overlay)
  get_filename_component(patch "${patch}" ABSOLUTE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${patch}")
  file(STRINGS "${patch}" headers REGEX "^\\+\\+\\+ b/")
  list(TRANSFORM headers REPLACE "^\\+\\+\\+ b/([^\t]*).*$" "\\1" OUTPUT_VARIABLE patched)
  list(APPEND patched ${ARGN})
  list(REMOVE_DUPLICATES patched)
  list(TRANSFORM patched PREPEND "${overlay}/" OUTPUT_VARIABLE overlay_files)
  list(TRANSFORM patched PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE original_files)
  string(REPLACE ";" "," joined "${patched}")
  add_custom_command(OUTPUT ${overlay_files}
    COMMAND "${CMAKE_COMMAND}" -D "SOURCE_DIR=${PROJECT_SOURCE_DIR}" -D "OVERLAY=${overlay}" -D "PATCH=${patch}"
            -D "FILES=${joined}" -P "${SLOTPROOF_FAULT_SCRIPT}"
    DEPENDS "${patch}" ${original_files} "${SLOTPROOF_FAULT_SCRIPT}"
    COMMENT "Planting the fault ${name}" VERBATIM)
  set(fault_patched "${patched}" PARENT_SCOPE)
  set(fault_overlay_files "${overlay_files}" PARENT_SCOPE)
endfunction()

# Whether what a source includes, or itself, is among the patched files.
function(slotproof_is_affected name patched result)
  slotproof_included_files("${name}" included)
  set(${result} OFF PARENT_SCOPE)
  foreach(file IN LISTS patched)
    if(file IN_LIST included)
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# One symbol goes out, none comes in, and nothing is left open.
function(slotproof_finish_fault target name folder)
  target_compile_definitions(${target} PRIVATE "SLOTPROOF_PLUGIN_NAME=\"${name}\"")
  set(exports "${PROJECT_SOURCE_DIR}/property_tests/faults/plugin.map")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}" LINKER:-Bsymbolic LINKER:--no-undefined)
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME "${name}" LIBRARY_OUTPUT_DIRECTORY "${folder}" LINK_DEPENDS "${exports}")
endfunction()

function(slotproof_add_fault_common)
  if(NOT TARGET slotproof_fault_common)
    get_property(sources GLOBAL PROPERTY SLOTPROOF_KERNEL_HOST_SOURCES)
    add_library(slotproof_fault_common OBJECT ${sources})
    slotproof_set_fault_options(slotproof_fault_common)
  endif()
endfunction()

function(slotproof_add_fault)
  cmake_parse_arguments(PARSE_ARGV 0 fault "" "NAME;PATCH;FOLDER;ENTRY" "SOURCES")
  if(NOT fault_ENTRY)
    set(fault_ENTRY kernels/host_plugin.cpp)
  endif()
  get_property(sources GLOBAL PROPERTY SLOTPROOF_KERNEL_HOST_SOURCES)
  slotproof_add_fault_common()
  set(overlay "${CMAKE_CURRENT_BINARY_DIR}/overlay/${fault_NAME}")
  set(own_sources "${PROJECT_SOURCE_DIR}/${fault_ENTRY}")
  get_filename_component(own_names "${fault_ENTRY}" NAME)

  if(fault_PATCH)
    slotproof_add_overlay("${fault_NAME}" "${fault_PATCH}" "${overlay}")
    list(APPEND own_sources ${fault_overlay_files})  # Headers among them: so that the overlay is made first.
    foreach(source IN LISTS sources)
      file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}" "${source}")
      slotproof_is_affected("${name}" "${fault_patched}" is_affected)
      if(is_affected)
        get_filename_component(base "${name}" NAME)
        list(APPEND own_names "${base}")
        if(NOT name IN_LIST fault_patched)
          list(APPEND own_sources "${source}")
        endif()
      endif()
    endforeach()
  endif()

  foreach(name IN LISTS fault_SOURCES)
    if(NOT name IN_LIST fault_patched)
      list(APPEND own_sources "${PROJECT_SOURCE_DIR}/${name}")
    endif()
  endforeach()

  set(target "slotproof_fault_${fault_NAME}")
  string(REPLACE "." "\\." pattern "${own_names}")
  string(REPLACE ";" "|" pattern "${pattern}")
  add_library(${target} MODULE ${own_sources} "$<FILTER:$<TARGET_OBJECTS:slotproof_fault_common>,EXCLUDE,/(${pattern})\\.o$>")
  target_include_directories(${target} BEFORE PRIVATE "${overlay}")
  slotproof_set_fault_options(${target})
  if(fault_PATCH)
    target_compile_definitions(${target} PRIVATE SLOTPROOF_FEW_KERNELS)
  endif()
  slotproof_finish_fault(${target} "${fault_NAME}" "${CMAKE_BINARY_DIR}/faults/${fault_FOLDER}")
endfunction()

# The kernels are compiled only where the patch changes them, and then one of each kind; else they are those of the build.
function(slotproof_add_cuda_fault)
  cmake_parse_arguments(PARSE_ARGV 0 fault "" "NAME;PATCH" "")
  set(overlay "${CMAKE_CURRENT_BINARY_DIR}/overlay/${fault_NAME}")
  set(own_sources "${PROJECT_SOURCE_DIR}/kernels/cuda_plugin.cpp")
  set(has_own_kernels OFF)
  if(fault_PATCH)
    slotproof_add_overlay("${fault_NAME}" "${fault_PATCH}" "${overlay}")
    list(APPEND own_sources ${fault_overlay_files})
    slotproof_is_affected("kernels/remap_cuda.cu" "${fault_patched}" has_own_kernels)
  endif()
  set(target "slotproof_fault_${fault_NAME}")
  add_library(${target} MODULE ${own_sources})
  target_include_directories(${target} BEFORE PRIVATE "${overlay}")
  if(has_own_kernels)
    slotproof_add_fault_common()
    if(NOT "kernels/remap_cuda.cu" IN_LIST fault_patched)
      target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/kernels/remap_cuda.cu")
    endif()
    target_sources(${target} PRIVATE
      "$<FILTER:$<TARGET_OBJECTS:slotproof_fault_common>,INCLUDE,/(arguments|remap_view|status|storage_overlap|tiling)\\.cpp\\.o$>")
    target_compile_definitions(${target} PRIVATE SLOTPROOF_FEW_KERNELS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-lineinfo --expt-relaxed-constexpr>)
    if(SLOTPROOF_CUDA_ARCHITECTURES STREQUAL "")  # All of them take too long; the bundle and the presets name theirs.
      set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES 90-real)
    endif()
  else()
    target_link_libraries(${target} PRIVATE slotproof_kernels)
  endif()
  slotproof_set_fault_options(${target})
  target_link_libraries(${target} PRIVATE CUDA::cudart_static)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  slotproof_finish_fault(${target} "${fault_NAME}" "${CMAKE_BINARY_DIR}/faults/cuda")
endfunction()

# The patched sources stand before the library of the kernels, which then is not asked for what they define.
function(slotproof_add_fuzz_fault name patch)
  get_target_property(sources slotproof_kernels SOURCES)
  set(overlay "${CMAKE_CURRENT_BINARY_DIR}/overlay/${name}")
  slotproof_add_overlay("${name}" "${patch}" "${overlay}")
  set(own_sources ${fault_overlay_files})
  foreach(source IN LISTS sources)
    get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}/kernels")
    file(RELATIVE_PATH file "${PROJECT_SOURCE_DIR}" "${source}")
    slotproof_is_affected("${file}" "${fault_patched}" is_affected)
    if(is_affected AND NOT file IN_LIST fault_patched)
      list(APPEND own_sources "${source}")
    endif()
  endforeach()
  set(target slotproof_fuzz_fault_${name})
  add_executable(${target} EXCLUDE_FROM_ALL ${own_sources})
  target_include_directories(${target} BEFORE PRIVATE "${overlay}" "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/kernels/include")
  get_target_property(options slotproof_kernels COMPILE_OPTIONS)
  target_compile_options(${target} PRIVATE ${options} -w)  # warnings of a faulty source are no news
endfunction()
