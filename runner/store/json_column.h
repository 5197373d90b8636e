// Values that one column stores as JSON text, because they are only read whole. Bytes that are not
// UTF-8 become U+FFFD.
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

// The error of a row that no runner writes; `what` names table and column.
[[noreturn]] inline void throw_damaged(std::string_view what, std::int64_t row,
                                       std::string_view why) {
    throw SqlError(SQLITE_CORRUPT, fmt::format("{} of row {}: {}", what, row, why));
}

// Calls `read`; an exception about the value means that the database is damaged.
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
