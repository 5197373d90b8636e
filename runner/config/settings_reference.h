// What is generated from the table of settings: the JSON Schema of the configuration files
// (config.schema.json) and the table of docs/reference/settings.md. Tests compare both with the
// files, and write them where COMPAT_UPDATE_GOLDEN is set. The program itself needs neither.
#pragma once

#include <string>

namespace compat::config {

[[nodiscard]] std::string settings_schema();

[[nodiscard]] std::string settings_markdown();

}  // namespace compat::config
