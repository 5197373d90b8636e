// Turns SqlError, which this folder throws inside, into the Error that callers get.
#pragma once

#include <string_view>
#include <type_traits>

#include "runner/base/files/fs.h"
#include "runner/store/database.h"
#include "runner/store/queries.h"

namespace compat::store {

template <class T>
struct AsExpected {
    using type = Expected<T>;
};
template <class T>
struct AsExpected<Expected<T>> {
    using type = Expected<T>;
};

// `function` returns a value, or an Expected.
template <class Function>
auto guarded(const fs::path& file, Function function) {
    using Result = typename AsExpected<std::invoke_result_t<Function>>::type;
    try {
        return Result(function());
    } catch (const SqlError& error) {
        return Result(tl::unexpected(to_error(error, file)));
    }
}

// `read(database, row of the run)`.
template <class Read>
auto reading(Database& database, std::string_view run, Read read) {
    using Value = std::invoke_result_t<Read, Database&, std::int64_t>;
    return guarded(database.file(), [&]() -> typename AsExpected<Value>::type {
        return read(database, TRY(run_row(database, run)));
    });
}

template <class Function>
Expected<void> write(Database& database, Function function) {
    return guarded(database.file(), [&]() -> Expected<void> {
        Transaction transaction(database);
        TRY(function());
        transaction.commit();
        return {};
    });
}

// Writes to a run that must exist.
template <class Function>
Expected<void> write_to(Database& database, std::string_view run, Function function) {
    return write(database, [&]() -> Expected<void> {
        const auto row = TRY(run_row(database, run));
        function(row);
        return {};
    });
}

}  // namespace compat::store
