# Finds LLVM and MLIR 22, and links them only statically.

if(EXISTS /usr/lib/llvm-22)
  list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-22)
endif()

# The exported LLVM targets name zstd::libzstd_shared.
find_package(zstd QUIET CONFIG)
if(NOT TARGET zstd::libzstd_shared)
  find_library(HEDDLE_ZSTD_LIBRARY zstd REQUIRED)
  add_library(zstd::libzstd_shared SHARED IMPORTED)
  set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION "${HEDDLE_ZSTD_LIBRARY}")
endif()

find_package(MLIR 22.1 REQUIRED CONFIG)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} from ${MLIR_DIR}")

set(LLVM_LINK_LLVM_DYLIB OFF)
set(MLIR_LINK_MLIR_DYLIB OFF)
set(LLVM_BUILD_LLVM_DYLIB OFF)

# Many exported MLIR targets link the shared library LLVM. One such target would add libLLVM.so and libMLIR.so to the
# archives: every symbol would exist twice, and no program would run on a machine without LLVM. This function replaces
# the shared library by the archives with the same contents.
function(heddle_link_llvm_statically)
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS imported)
    if(NOT target MATCHES "^MLIR")
      continue()
    endif()
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    if(libraries AND "LLVM" IN_LIST libraries)
      list(REMOVE_ITEM libraries LLVM)
      list(APPEND libraries LLVMSupport LLVMCore LLVMRemarks LLVMTargetParser)
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
    endif()
  endforeach()

  # Links the compression libraries statically, too, if their archives are installed. libheddle.so then needs only the C
  # and C++ libraries.
  find_library(HEDDLE_ZSTD_ARCHIVE libzstd.a)
  find_library(HEDDLE_ZLIB_ARCHIVE libz.a)
  if(HEDDLE_WHEEL AND NOT (HEDDLE_ZSTD_ARCHIVE AND HEDDLE_ZLIB_ARCHIVE))
    message(FATAL_ERROR "The wheel needs libzstd.a and libz.a: install libzstd-dev and zlib1g-dev")
  endif()
  get_target_property(libraries LLVMSupport INTERFACE_LINK_LIBRARIES)
  if(HEDDLE_ZSTD_ARCHIVE)
    list(TRANSFORM libraries REPLACE "^zstd::libzstd_shared$" "${HEDDLE_ZSTD_ARCHIVE}")
  endif()
  if(HEDDLE_ZLIB_ARCHIVE)
    list(TRANSFORM libraries REPLACE "^ZLIB::ZLIB$" "${HEDDLE_ZLIB_ARCHIVE}")
  endif()
  set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
endfunction()
heddle_link_llvm_statically()

# The LLVM package exports the target llvm-lit but does not contain its file.
set(LLVM_EXTERNAL_LIT "${LLVM_TOOLS_BINARY_DIR}/lit" CACHE FILEPATH "The lit test runner")
set(MLIR_BINARY_DIR "${CMAKE_BINARY_DIR}")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
set(LLVM_TABLEGEN_EXE "${LLVM_TOOLS_BINARY_DIR}/llvm-tblgen") # MLIR's is set by its package
include(TableGen)
include(AddLLVM)
include(AddMLIR)

separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${llvm_definitions})
if(NOT LLVM_ENABLE_ASSERTIONS)
  add_compile_definitions(HEDDLE_LLVM_HAS_NO_ASSERTIONS) # see LlvmStatistics.h
endif()

# Sources include headers, also generated headers, by their path from the root ("dialect/Foreach.h"). TableGen uses the
# same search path.
include_directories("${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
