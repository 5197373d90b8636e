// A statement whose rows are read into values, each column by its name. The names are looked up
// once, when the statement is prepared. Not for statements that write (database.h).
#pragma once

#include <array>
#include <boost/preprocessor/seq/for_each.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <boost/preprocessor/variadic/to_seq.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "parsers/record.h"
#include "runner/base/attempt.h"
#include "runner/base/clock.h"
#include "runner/base/gap.h"
#include "runner/store/database.h"
#include "runner/store/json_column.h"

namespace compat::store {

// A value of the row that a statement is at.
struct Cell {
    const Statement& row;
    int column;
    std::string_view table, name;
    int id;  // the column of the row's id, for messages; -1: none

    // A word of an enumeration, JSON text for lists and objects; null leaves the value empty. A
    // value that no runner writes is damage: throws SqlError.
    template <class T>
    void read(T& into) const;

  private:
    template <class Enum>
    [[nodiscard]] Enum word() const;
    [[nodiscard]] std::string what() const { return fmt::format("{}.{}", table, name); }
    [[nodiscard]] std::int64_t row_id() const { return id < 0 ? 0 : row.integer(id); }
};

// `Row` is built by default and filled from the columns that `describe` names:
//     [](Row& row, auto column) { column("path", row.path); column("reason", row.reason); }
// It names the same columns for each row. `table` is for messages about damage.
template <class Row>
class Query {
  public:
    template <class Describe>
    Query(Statement statement, Describe describe, std::string_view table = "row")
        : statement_(std::move(statement)) {
        std::vector<int> places;
        Row any{};
        describe(any, [&](std::string_view name, const auto&) {
            places.push_back(statement_.column(name));
        });
        read_ = [places = std::move(places), describe, table = std::string(table),
                 id = statement_.find_column("id")](const Statement& row, Row& into) {
            auto place = places.begin();
            describe(into, [&](std::string_view name, auto& value) {
                Cell{row, *place++, table, name, id}.read(value);
            });
        };
    }

    // Binds values from the first parameter on.
    template <class... Values>
    Query& bind(const Values&... values) {
        statement_.bind_all(values...);
        return *this;
    }
    // Calls `see(row)` for each row.
    template <class See>
    void each(See see) {
        while (statement_.step()) {
            Row row{};
            read_(statement_, row);
            see(std::move(row));
        }
        statement_.reset();
    }
    template <class... Values>
    [[nodiscard]] std::vector<Row> all(const Values&... values) {
        std::vector<Row> rows;
        statement_.bind_all(values...);
        while (statement_.step()) read_(statement_, rows.emplace_back());
        statement_.reset();
        return rows;
    }
    template <class... Values>
    [[nodiscard]] std::optional<Row> first(const Values&... values) {
        std::optional<Row> row;
        statement_.bind_all(values...);
        if (statement_.step()) read_(statement_, row.emplace());
        statement_.reset();
        return row;
    }

  private:
    Statement statement_;
    std::function<void(const Statement&, Row&)> read_;
};

// For a `describe`: column("path", row.path) of each of these members, whose columns have their
// names.
#define COLUMNS(row, ...) \
    BOOST_PP_SEQ_FOR_EACH(COMPAT_COLUMN, row, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__))
#define COMPAT_COLUMN(step, row, name) column(BOOST_PP_STRINGIZE(name), row.name);

// The values of a statement with one column.
template <class T>
[[nodiscard]] std::vector<T> values_of(Statement& statement) {
    std::vector<T> values;
    while (statement.step()) Cell{statement, 0, "row", "value", -1}.read(values.emplace_back());
    statement.reset();
    return values;
}

// Names the counts of tests by state, for a query's `describe`.
template <class Counts, class Column>
void describe_states(Counts& states, Column column) {
    for (std::size_t i = 0; i < states.size(); ++i) column(parsers::kStateNames[i], states[i]);
}

namespace words {

inline auto named(std::string_view word, parsers::State) { return parsers::state_of(word); }
inline auto named(std::string_view word, parsers::Phase) { return parsers::phase_of(word); }
inline auto named(std::string_view word, parsers::ModuleOutcome) {
    return parsers::module_outcome_of(word);
}
inline auto named(std::string_view word, parsers::Cause) { return parsers::cause_of(word); }
inline auto named(std::string_view word, parsers::ErrorClass) {
    return parsers::error_class_of(word);
}
inline auto named(std::string_view word, parsers::Confidence) {
    return parsers::confidence_of(word);
}
inline auto named(std::string_view word, AttemptKind) { return attempt_kind_of(word); }
template <class Enum, std::size_t N>
std::optional<Enum> in(const std::array<std::string_view, N>& names, std::string_view word) {
    for (std::size_t i = 0; i < N; ++i)
        if (names[i] == word) return static_cast<Enum>(i);
    return std::nullopt;
}
inline auto named(std::string_view word, GapKind) { return in<GapKind>(kGapKindNames, word); }
inline auto named(std::string_view word, Severity) { return in<Severity>(kSeverityNames, word); }

}  // namespace words

template <class Enum>
Enum Cell::word() const {
    const std::string text = row.text(column);
    const auto value = words::named(text, Enum{});
    if (!value) throw_damaged(what(), row_id(), fmt::format("unknown word '{}'", text));
    return *value;
}

template <class T>
void Cell::read(T& into) const {
    if constexpr (requires {
                      typename T::value_type;
                      into.emplace();
                      into.has_value();
                  }) {
        if (!row.is_null(column)) read(into.emplace());
    } else if constexpr (std::is_same_v<T, std::string>) {
        into = row.text(column);
    } else if constexpr (std::is_same_v<T, WallTime>) {
        into = WallTime(Milliseconds(row.integer(column)));
    } else if constexpr (std::is_same_v<T, bool>) {
        into = row.integer(column) != 0;
    } else if constexpr (std::is_integral_v<T>) {
        into = static_cast<T>(row.integer(column));
    } else if constexpr (std::is_floating_point_v<T>) {
        into = static_cast<T>(row.real(column));
    } else if constexpr (std::is_enum_v<T>) {
        into = word<T>();
    } else {
        into = undamaged(what(), row_id(),
                         [&] { return nlohmann::json::parse(row.text(column)).get<T>(); });
    }
}

}  // namespace compat::store
