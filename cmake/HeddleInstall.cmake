# cmake --install: libheddle.so, the tools, the two public headers, the device headers and the package files for
# find_package(heddle), which provides heddle::heddle, and for pkg-config. The component `wheel` has the binaries of the
# Python package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS heddle EXPORT heddle-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(tool IN ITEMS heddle-cli heddle-opt)
  if(TARGET ${tool})
    set_target_properties(${tool} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

# Optional, so that a partial tree still installs.
install(FILES "${PROJECT_SOURCE_DIR}/runtime/heddle.h" "${PROJECT_SOURCE_DIR}/runtime/heddle.hpp"
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} OPTIONAL)
file(GLOB device_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/codegen/device/*.cuh" "${PROJECT_SOURCE_DIR}/codegen/device/*.h")
install(FILES ${device_headers} DESTINATION ${CMAKE_INSTALL_DATADIR}/heddle/device)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DATADIR}/heddle OPTIONAL)

install(EXPORT heddle-targets NAMESPACE heddle:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/heddle-config-version.cmake" COMPATIBILITY SameMinorVersion)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/heddle-config.cmake" CONTENT [[
# find_package(heddle) defines heddle::heddle.
include("${CMAKE_CURRENT_LIST_DIR}/heddle-targets.cmake")
]] @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/heddle-config.cmake" "${PROJECT_BINARY_DIR}/heddle-config-version.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)

# Paths relative to the file itself, so that an installed tree can move.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/heddle.pc" CONTENT [[
prefix=${pcfiledir}/../..
libdir=${prefix}/@CMAKE_INSTALL_LIBDIR@
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@

Name: heddle
Description: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Libs: -L${libdir} -lheddle
Cflags: -I${includedir}
]] @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/heddle.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(HEDDLE_WHEEL)
  if(NOT TARGET heddle_fast)
    message(FATAL_ERROR "The wheel needs the headers of Python 3.10 or later: install python3-dev")
  endif()
  install(TARGETS heddle heddle_fast LIBRARY DESTINATION heddle COMPONENT wheel EXCLUDE_FROM_ALL)
endif()
