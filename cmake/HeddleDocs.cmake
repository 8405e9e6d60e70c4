# The op and pass reference, generated from TableGen. Target heddle-docs writes <build>/docs/reference/*.md.
# `tools/dev docs` copies these pages to docs/reference. `tools/dev lint` and the tests fail when the two differ.

add_custom_target(heddle-docs ALL)

function(heddle_reference_page name td)
  if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${td}")
    return()
  endif()
  set(page "${PROJECT_BINARY_DIR}/docs/reference/${name}.md")
  get_filename_component(folder "${PROJECT_SOURCE_DIR}/${td}" DIRECTORY)
  # mlir-tblgen also writes <name>.d, the dependency file that ninja reads.
  add_custom_command(OUTPUT "${page}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/docs/reference"
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} "-I${folder}" "-I${PROJECT_SOURCE_DIR}" "-I${PROJECT_BINARY_DIR}"
            "-I${MLIR_INCLUDE_DIRS}" "${PROJECT_SOURCE_DIR}/${td}" -o "${page}" -d "${page}.d"
    COMMAND sed -i "/^\\[TOC\\]$/d" "${page}"
    DEPENDS "${PROJECT_SOURCE_DIR}/${td}" ${MLIR_TABLEGEN_EXE}
    DEPFILE "${page}.d" COMMENT "Writing docs/reference/${name}.md" VERBATIM)
  add_custom_target(heddle-docs-${name} DEPENDS "${page}")
  add_dependencies(heddle-docs heddle-docs-${name})
endfunction()

heddle_reference_page(foreach dialect/ForeachOps.td -gen-dialect-doc -dialect=foreach)
heddle_reference_page(fused dialect/FusedOps.td -gen-dialect-doc -dialect=fused)
heddle_reference_page(passes passes/Passes.td -gen-pass-doc)
