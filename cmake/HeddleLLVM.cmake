# Finds LLVM and MLIR 22 and makes them safe to link statically, and only statically.

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

# Many of the exported MLIR targets name the shared library LLVM. One of them is enough to pull libLLVM.so and
# libMLIR.so in next to the archives (every symbol twice, and nothing runs on a machine without LLVM): replace the name
# by the archives it stands for.
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

  # Likewise the compression libraries, where their archives are installed: libheddle.so then needs the C and C++
  # libraries only.
  find_library(HEDDLE_ZSTD_ARCHIVE libzstd.a)
  find_library(HEDDLE_ZLIB_ARCHIVE libz.a)
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

# The package exports llvm-lit, which it does not ship.
set(LLVM_EXTERNAL_LIT "${LLVM_TOOLS_BINARY_DIR}/lit" CACHE FILEPATH "The lit test runner")
set(MLIR_BINARY_DIR "${CMAKE_BINARY_DIR}")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
set(LLVM_TABLEGEN_EXE "${LLVM_TOOLS_BINARY_DIR}/llvm-tblgen") # MLIR's is set by its package
include(TableGen)
include(AddLLVM)
include(AddMLIR)

separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${llvm_definitions})

# Sources name headers from the root of the tree ("dialect/Foreach.h"), generated ones likewise. TableGen searches the
# same folders.
include_directories("${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
