// Values kept in one column as JSON text: those that are read whole and never searched. Bytes that
// are not UTF-8 become U+FFFD there.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "runner/store/database.h"

namespace compat::store {

[[nodiscard]] inline std::string to_column(const nlohmann::json& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// What a row holds is not what any runner writes: `what` names the table and the column.
[[noreturn]] inline void throw_damaged(std::string_view what, std::int64_t row,
                                       std::string_view why) {
    throw SqlError(SQLITE_CORRUPT, fmt::format("{} of row {}: {}", what, row, why));
}

// What `read` gives; what it throws about the value becomes damage of the database.
template <class Read>
auto undamaged(std::string_view what, std::int64_t row, Read read) {
    try {
        return read();
    } catch (const nlohmann::json::exception& error) {
        throw_damaged(what, row, error.what());
    } catch (const std::out_of_range& error) {
        throw_damaged(what, row, error.what());
    }
}

template <class T>
[[nodiscard]] T from_column(const std::string& text, std::string_view what, std::int64_t row) {
    return undamaged(what, row, [&] { return nlohmann::json::parse(text).get<T>(); });
}

}  // namespace compat::store
