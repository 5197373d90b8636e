# Sets COMPAT_WEB_ASSETS to a C++ source with the page's script and style, made by build.mjs in the
# build folder. Without Node.js that source has the reason instead, and there is no HTML report.
set(work ${CMAKE_BINARY_DIR}/web)
set(COMPAT_WEB_ASSETS ${work}/web_assets.cc)
find_program(COMPAT_NODE node)
find_program(COMPAT_NPM npm)
set(without "")
if(NOT COMPAT_NODE OR NOT COMPAT_NPM)
  set(without "Node.js or npm was not found")
else()
  execute_process(COMMAND ${COMPAT_NODE} --version OUTPUT_VARIABLE node_version OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REGEX REPLACE "^v" "" node_version "${node_version}")
  if(node_version VERSION_LESS 18)
    set(without "Node.js ${node_version} is older than 18")
  endif()
endif()

if(without)
  message(WARNING "The runner is built without report.html: ${without}. Install Node.js 18 or newer with npm, then configure again.")
  file(REMOVE ${work}/complete)
  file(CONFIGURE OUTPUT ${COMPAT_WEB_ASSETS} CONTENT [[
#include "reports/html/web_assets.h"

namespace compat::reports {

const WebAssets& web_assets() {
    static const WebAssets assets{.missing = "@without@", .script = {}, .script_hash = {}, .style = {}, .style_hash = {}, .licences = {}};
    return assets;
}

}  // namespace compat::reports
]] @ONLY)
else()
  # The sources stand in the dependency file, new ones too. The stamp is missing while packages
  # cannot be installed: each build then tries again.
  add_custom_command(
    OUTPUT ${COMPAT_WEB_ASSETS} ${work}/complete
    COMMAND ${COMPAT_NODE} ${CMAKE_CURRENT_LIST_DIR}/build.mjs ${work} ${COMPAT_WEB_ASSETS} ${work}/complete ${work}/sources.d
    DEPFILE ${work}/sources.d
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/build.mjs ${CMAKE_CURRENT_LIST_DIR}/package.json
            ${CMAKE_CURRENT_LIST_DIR}/package-lock.json ${CMAKE_CURRENT_LIST_DIR}/.npmrc
            ${CMAKE_CURRENT_LIST_DIR}/tsconfig.json
    COMMENT "Bundling the page of report.html"
    VERBATIM)
endif()
# By itself, so that a change of the page compiles nothing else.
set_source_files_properties(${COMPAT_WEB_ASSETS} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
