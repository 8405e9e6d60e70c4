# CMake functions for the component folders.
#
#   heddle_tablegen(TARGET TD_FILE  KIND... )                .inc files that TableGen generates, and their target
#   heddle_library(NAME SOURCES... [MLIR] [LINK lib...] [LLVM component...] [DEPENDS target...])
#   heddle_executable(NAME SOURCES... [MLIR] [LINK lib...] [LLVM component...] [DEPENDS target...])
#   heddle_unit_test(NAME ...)                               a GTest binary that `tools/dev test` runs
#   heddle_count_work(NAME...)                              libraries whose work is counted
#   heddle_mark_test(NAME)                                   another target that contains test code
#   heddle_example(NAME ...)                                 a program of examples/ that `tools/dev test` runs
#   heddle_embed(TARGET OUTPUT.inc  FILE...)                 text files as C++ string literals
#
# MLIR marks a target that includes MLIR headers. Such a target is compiled without exceptions, uses the shared
# precompiled header and depends on all generated headers. The runtime and the tools are compiled with exceptions,
# because the C interface turns those of the standard library into errors; their property HEDDLE_USES_SUPPORT gives them
# the precompiled headers of LLVM's support library. LINK takes targets, LLVM takes components (orcjit, native).
# heddle-version.h has the version.

include_guard(GLOBAL)

# heddle_tablegen(HeddleForeachIncGen ForeachOps.td
#   -gen-op-decls ForeachOps.h.inc  -gen-op-defs ForeachOps.cpp.inc ...)
# creates each file in the current binary folder, and a custom target for DEPENDS.
function(heddle_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(flags "")
  foreach(argument IN LISTS ARGN)
    if(argument MATCHES "\\.inc$|\\.md$")
      if("-gen-searchable-tables" IN_LIST flags)
        tablegen(LLVM ${argument} ${flags}) # mlir-tblgen has no such backend
      else()
        mlir_tablegen(${argument} ${flags})
      endif()
      set(flags "")
    else()
      list(APPEND flags ${argument})
    endif()
  endforeach()
  add_public_tablegen_target(${target})
  set_property(GLOBAL APPEND PROPERTY HEDDLE_TABLEGEN_TARGETS ${target})
endfunction()

# Skips missing sources with a warning, so that one incomplete folder does not stop the build of other folders.
function(_heddle_existing result)
  set(existing "")
  foreach(source IN LISTS ARGN)
    get_filename_component(path "${source}" ABSOLUTE)
    if(EXISTS "${path}" OR source MATCHES "\\$<" OR path MATCHES "^${PROJECT_BINARY_DIR}/")
      list(APPEND existing "${source}")
    else()
      file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${path}")
      message(WARNING "${path} is named in CMakeLists.txt and does not exist")
      set_property(GLOBAL APPEND PROPERTY HEDDLE_MISSING_SOURCES "${path}")
    endif()
  endforeach()
  set(${result} ${existing} PARENT_SCOPE)
endfunction()

function(_heddle_common name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR" "" "LINK;LLVM;DEPENDS" )
  # MLIR and LLVM are compiled without exceptions, so targets that include their headers are, too.
  if(arg_MLIR)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
    set_property(TARGET ${name} PROPERTY HEDDLE_USES_MLIR ON)
  endif()
  if(arg_LLVM)
    llvm_map_components_to_libnames(llvm_libraries ${arg_LLVM})
    target_link_libraries(${name} PUBLIC ${llvm_libraries})
  endif()
  if(arg_LINK)
    target_link_libraries(${name} PUBLIC ${arg_LINK})
  endif()
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

# A static library of a component, which becomes part of libheddle.so.
function(heddle_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR" "" "LINK;LLVM;DEPENDS")
  _heddle_existing(sources ${arg_UNPARSED_ARGUMENTS})
  if(NOT sources)
    set(sources "${PROJECT_BINARY_DIR}/heddle-empty.cpp")
  endif()
  add_library(${name} STATIC ${sources})
  set(mlir "")
  if(arg_MLIR)
    set(mlir MLIR)
  endif()
  _heddle_common(${name} ${mlir} LINK ${arg_LINK} LLVM ${arg_LLVM} DEPENDS ${arg_DEPENDS})
endfunction()

function(heddle_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR" "" "LINK;LLVM;DEPENDS")
  _heddle_existing(sources ${arg_UNPARSED_ARGUMENTS})
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  if(HEDDLE_SANITIZE)
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/SanitizerOptions.cpp")
  endif()
  set(mlir "")
  if(arg_MLIR)
    set(mlir MLIR)
  endif()
  _heddle_common(${name} ${mlir} LINK ${arg_LINK} LLVM ${arg_LLVM} DEPENDS ${arg_DEPENDS})
endfunction()

# A GTest binary (main() comes with GTest), in bin/.
function(heddle_unit_test name)
  heddle_executable(${name} ${ARGN})
  if(NOT TARGET ${name})
    return()
  endif()
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gtest_main)
  heddle_mark_test(${name})
  set_property(GLOBAL APPEND PROPERTY HEDDLE_UNIT_TESTS "$<TARGET_FILE:${name}>")
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# Compiles a target without optimization, because compiling test code takes longer than running it. The code under test
# is optimized.
function(heddle_mark_test name)
  set_property(TARGET ${name} PROPERTY HEDDLE_IS_TEST ON)
  target_compile_options(${name} PRIVATE -O0)
endfunction()

# Counts the work of libraries (dialect/WorkCounter.h). The blocks of their code call a function of HeddleDialect.
function(heddle_count_work)
  if(HEDDLE_COUNT_WORK)
    foreach(name IN LISTS ARGN)
      target_compile_options(${name} PRIVATE -fsanitize-coverage=trace-pc)
    endforeach()
  endif()
endfunction()

# An example program, in bin/. The tests run it without arguments. Exit code 0 means success; 77 means that this machine
# cannot run the program.
function(heddle_example name)
  heddle_executable(${name} ${ARGN})
  if(NOT TARGET ${name})
    return()
  endif()
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  set_property(GLOBAL APPEND PROPERTY HEDDLE_EXAMPLES "$<TARGET_FILE:${name}>")
  install(TARGETS ${name} RUNTIME COMPONENT gpu EXCLUDE_FROM_ALL)
endfunction()

# heddle_embed(HeddleExample Example.inc a.cuh b.cuh): OUTPUT holds one line {"a.cuh", R"delimiter(...)delimiter"},
# per file, in the order given, for an array of {name, text} pairs. Long files are split into adjacent literals.
function(heddle_embed target output)
  set(files "")
  _heddle_existing(sources ${ARGN})
  foreach(file IN LISTS sources)
    get_filename_component(file "${file}" ABSOLUTE)
    list(APPEND files "${file}")
  endforeach()
  get_filename_component(output "${output}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  add_custom_command(OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DFILES=${files}" -P "${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake"
    COMMENT "Embedding ${target}" VERBATIM)
  add_custom_target(${target} DEPENDS "${output}")
  set_property(GLOBAL APPEND PROPERTY HEDDLE_TABLEGEN_TARGETS ${target})
endfunction()

# The version is in project() of the root CMakeLists.txt. Sources include this header.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/heddle-version.h" CONTENT [[
// Generated by the build from the version in the root CMakeLists.txt.
#ifndef HEDDLE_VERSION_H
#define HEDDLE_VERSION_H
#define HEDDLE_VERSION "@PROJECT_VERSION@"
#define HEDDLE_VERSION_MAJOR @PROJECT_VERSION_MAJOR@
#define HEDDLE_VERSION_MINOR @PROJECT_VERSION_MINOR@
#define HEDDLE_VERSION_PATCH @PROJECT_VERSION_PATCH@
#define HEDDLE_LLVM_VERSION "@LLVM_PACKAGE_VERSION@"
#endif
]] @ONLY)

file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/heddle-empty.cpp" CONTENT "// Empty: a library needs a source.\n")

# All targets below a folder, recursively.
function(_heddle_targets_below folder result)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(subfolders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    _heddle_targets_below("${subfolder}" below)
    list(APPEND targets ${below})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# Precompiles `header`, with `options` and the flags of `libraries`, for the targets in ARGN.
function(_heddle_precompile name header options libraries)
  if(NOT ARGN)
    return()
  endif()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/${name}.cpp" CONTENT "// Source of a precompiled header.\n")
  add_library(${name} OBJECT "${PROJECT_BINARY_DIR}/${name}.cpp")
  target_compile_options(${name} PRIVATE ${options})
  target_link_libraries(${name} PRIVATE ${libraries})
  target_precompile_headers(${name} PRIVATE "${header}")
  foreach(target IN LISTS ARGN)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      # The header is compiled with -fPIC, which does not match -fPIE.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${name})
  endforeach()
endfunction()

# Must be called after all targets exist. Makes targets depend on the generated headers that they may include, and lets
# targets of the same kind share a precompiled header.
function(heddle_finish_targets)
  get_property(missing GLOBAL PROPERTY HEDDLE_MISSING_SOURCES)
  list(JOIN missing "\n" missing)
  file(WRITE "${PROJECT_BINARY_DIR}/missing-sources.txt" "${missing}")
  get_property(generated GLOBAL PROPERTY HEDDLE_TABLEGEN_TARGETS)
  _heddle_targets_below("${PROJECT_SOURCE_DIR}" targets)
  set(mlir "")
  set(support "")
  set(mlir_tests "")
  set(tests "")
  foreach(target IN LISTS targets)
    get_target_property(uses_mlir ${target} HEDDLE_USES_MLIR)
    get_target_property(is_test ${target} HEDDLE_IS_TEST)
    if(uses_mlir AND is_test)
      list(APPEND mlir_tests ${target})
    elseif(uses_mlir)
      list(APPEND mlir ${target})
    elseif(is_test)
      list(APPEND tests ${target})
    else()
      get_target_property(uses_support ${target} HEDDLE_USES_SUPPORT)
      if(uses_support)
        list(APPEND support ${target})
      endif()
    endif()
    if(uses_mlir AND generated)
      add_dependencies(${target} ${generated})
    endif()
  endforeach()

  if(NOT HEDDLE_PCH)
    return()
  endif()
  # Clang parses the headers once (4 s, 80 MB), which saves 3 to 4 s per source. GCC saves as much, but its precompiled
  # header has 450 MB, too much for ccache. So GCC has only one precompiled header.
  set(headers "${PROJECT_SOURCE_DIR}/cmake")
  _heddle_precompile(HeddleMlirPch "${headers}/MlirHeaders.h" "-fno-exceptions" "" ${mlir})
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    return()
  endif()
  _heddle_precompile(HeddleSupportPch "${headers}/SupportHeaders.h" "" "" ${support})
  find_package(GTest QUIET)
  if(GTest_FOUND)
    _heddle_precompile(HeddleMlirTestPch "${headers}/MlirTestHeaders.h" "-fno-exceptions;-O0" GTest::gtest ${mlir_tests})
    _heddle_precompile(HeddleTestPch "${headers}/TestHeaders.h" "-O0" GTest::gtest ${tests})
  endif()
endfunction()
