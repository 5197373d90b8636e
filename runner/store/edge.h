// Turns SqlError, which this folder throws inside, into the Error that callers get.
#pragma once

#include <filesystem>
#include <string_view>
#include <type_traits>

#include "runner/store/database.h"
#include "runner/store/queries.h"

namespace compat::store {

template <class Function>
auto guarded(const std::filesystem::path& file, Function function)
    -> Expected<typename std::invoke_result_t<Function>::value_type> {
    try {
        return function();
    } catch (const SqlError& error) {
        return tl::unexpected(to_error(error, file));
    }
}

template <class Function>
Expected<void> write(Database& database, Function function) {
    return guarded(database.file(), [&]() -> Expected<void> {
        Transaction transaction(database);
        if (auto done = function(); !done) return done;
        transaction.commit();
        return {};
    });
}

// Writes to a run that must exist.
template <class Function>
Expected<void> write_to(Database& database, std::string_view run, Function function) {
    return write(database, [&]() -> Expected<void> {
        const auto row = run_row(database, run);
        if (!row) return tl::unexpected(row.error());
        function(*row);
        return {};
    });
}

}  // namespace compat::store
