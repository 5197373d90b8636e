// Lists kept in one column as JSON text: those that are read whole and never searched. Bytes that
// are not UTF-8 become U+FFFD there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace compat::store {

[[nodiscard]] inline std::string to_column(const nlohmann::json& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace compat::store
