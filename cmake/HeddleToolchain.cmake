# Compiler flags, linker and compiler launcher of the whole build.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

# In every build type, only HEDDLE_ASSERTS enables assert(). RelWithDebInfo has line tables only, because full debug
# information for MLIR's templates multiplies the size of the archives and the link time.
foreach(config IN ITEMS RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REGEX REPLACE "(^| )-DNDEBUG( |$)" " " CMAKE_CXX_FLAGS_${config} "${CMAKE_CXX_FLAGS_${config}}")
  string(REGEX REPLACE "(^| )-DNDEBUG( |$)" " " CMAKE_C_FLAGS_${config} "${CMAKE_C_FLAGS_${config}}")
endforeach()
string(REGEX REPLACE "(^| )-g( |$)" " -g1 " CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
if(NOT HEDDLE_ASSERTS)
  add_compile_definitions(NDEBUG)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 gives these warnings wrongly inside LLVM's small containers.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-array-bounds;-Wno-stringop-overread;-Wno-stringop-overflow;-Wno-free-nonheap-object;-Wno-missing-field-initializers;-Wno-redundant-move;-Wno-pessimizing-move;-Wno-class-memaccess>")
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wdangling-reference>")
  endif()
else()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers;-Wno-unused-command-line-argument>")
endif()
# A use of memory after its life is an error. `tools/dev lint` finds one more kind, which no compiler reports.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror=dangling;-Werror=return-stack-address>")
endif()

if(HEDDLE_SANITIZE)
  add_compile_options(-fsanitize=${HEDDLE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HEDDLE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND HEDDLE_SANITIZE MATCHES "undefined")
    # This check reads the bytes before an indirectly called function. JIT code has no such bytes.
    add_compile_options(-fno-sanitize=function)
  endif()
endif()

if(HEDDLE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "HEDDLE_FUZZ needs clang, found ${CMAKE_CXX_COMPILER_ID}")
  endif()
  # A finding of any sanitizer ends the process, because libFuzzer keeps an input only if the process ends.
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-recover=all)
  # Records of comparisons took a quarter of the time. The mutators know the grammar and its words instead.
  add_compile_options(-fno-sanitize-coverage=trace-cmp)
endif()

find_program(HEDDLE_LLD ld.lld HINTS /usr/lib/llvm-22/bin)
if(HEDDLE_LLD)
  get_filename_component(lld_folder "${HEDDLE_LLD}" DIRECTORY)
  add_link_options(-fuse-ld=lld -B${lld_folder})
endif()
add_link_options(-Wl,--gc-sections -Wl,--as-needed)

find_program(HEDDLE_CCACHE_PROGRAM ccache)
if(HEDDLE_CCACHE AND HEDDLE_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache requires this sloppiness for precompiled headers.
  set(launcher "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      "${HEDDLE_CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Without a time stamp, a precompiled header depends only on its input, as ccache requires.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
