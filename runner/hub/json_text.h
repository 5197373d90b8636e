// JSON as text that any parser reads: ASCII, and bytes that are no UTF-8 replaced. Never throws, as
// the content may have come from elsewhere.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace compat::hub {

[[nodiscard]] inline std::string json_text(const nlohmann::json& value, int indent = -1) {
    return value.dump(indent, ' ', /*ensure_ascii=*/true, nlohmann::json::error_handler_t::replace);
}

}  // namespace compat::hub
