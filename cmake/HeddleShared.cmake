# libheddle.so: every component, MLIR, the X86 back end and ORC, linked once. The library exports only the C interface
# (heddle_*) and the symbols marked HEDDLE_EXPORT in heddle.hpp, so that a process can load another LLVM, too.

set(libraries "")
foreach(component IN ITEMS dialect passes codegen runtime)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${component}/CMakeLists.txt")
    _heddle_targets_below("${PROJECT_SOURCE_DIR}/${component}" targets)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND libraries ${target})
        set_property(GLOBAL APPEND PROPERTY HEDDLE_LIBRARIES_OF_${component} ${target})
      endif()
    endforeach()
  endif()
endforeach()
set_property(GLOBAL PROPERTY HEDDLE_COMPONENT_LIBRARIES ${libraries})

add_library(heddle SHARED "${PROJECT_SOURCE_DIR}/runtime/capi/ThrowingMalloc.cpp"
  "${PROJECT_SOURCE_DIR}/runtime/capi/ExitOrder.cpp")
add_library(heddle::heddle ALIAS heddle)
set_target_properties(heddle PROPERTIES LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/heddle.map")
if(HEDDLE_WHEEL)
  # One file without links, which a wheel cannot hold. The C++ runtime of the machine that loads it may be older than
  # that of this machine, so it is linked statically. Symbols bind inside of the library (-Bsymbolic), because the
  # process may have another C++ runtime, and another LLVM.
  target_sources(heddle PRIVATE "${PROJECT_SOURCE_DIR}/runtime/capi/OldGlibc.cpp")
  target_link_options(heddle PRIVATE -static-libstdc++ LINKER:-Bsymbolic
    LINKER:--wrap=__cxa_allocate_exception,--wrap=__cxa_allocate_dependent_exception)
  target_compile_definitions(heddle PRIVATE HEDDLE_STATIC_CXX_RUNTIME)
else()
  set_target_properties(heddle PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
endif()
# All objects of heddle are linked, because no object refers to the exported functions. From the archives of MLIR and
# LLVM, the linker takes only the objects in use. The runtime's objects are first: if several objects have one inline
# function, the linker takes the first, and only the runtime's clean up after an exception.
list(REVERSE libraries)
foreach(library IN LISTS libraries)
  target_sources(heddle PRIVATE $<TARGET_OBJECTS:${library}>)
endforeach()
target_link_libraries(heddle PRIVATE ${libraries})
target_link_options(heddle PRIVATE LINKER:--wrap=malloc,--wrap=calloc,--wrap=realloc) # runtime/capi/ThrowingMalloc.cpp
target_link_options(heddle PRIVATE LINKER:--wrap=__cxa_atexit,--wrap=__cxa_thread_atexit LINKER:-z,nodelete) # runtime/capi/ExitOrder.cpp
target_link_options(heddle PRIVATE LINKER:--exclude-libs,ALL)
target_link_options(heddle PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/heddle.map")
if(NOT HEDDLE_SANITIZE) # the executable has the symbols of the sanitizers
  target_link_options(heddle PRIVATE LINKER:-z,defs)
endif()
target_link_libraries(heddle PRIVATE ${CMAKE_DL_LIBS} pthread)
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_custom_command(TARGET heddle POST_BUILD
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/cmake/repair_unwind_table.py" "$<TARGET_FILE:heddle>"
  COMMENT "Repairing the unwind table" VERBATIM)
set_property(TARGET heddle APPEND PROPERTY LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/repair_unwind_table.py")
target_include_directories(heddle INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime>"
  "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>" "$<INSTALL_INTERFACE:include>")
target_compile_features(heddle INTERFACE cxx_std_20)
