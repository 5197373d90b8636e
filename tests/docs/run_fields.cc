// A run's fields where they stand once more: the docs' table and report.json's schema. The command
// that rewrites them adds a new field to each.
#include "runner/base/run/run_fields.h"

#include <fmt/format.h>

#include <filesystem>
#include <type_traits>

#include "runner/base/files.h"
#include "tests/docs/tables.h"
#include "tests/paths.h"

namespace compat::docs {

namespace {

using Reported = RunField::Reported;

template <class T>
constexpr bool is_optional = std::is_same_v<T, std::optional<std::string>>;

template <class T>
constexpr std::string_view type_of(std::string_view text, std::string_view number,
                                   std::string_view flag, std::string_view other) {
    if constexpr (std::is_same_v<T, std::string> || is_optional<T>)
        return text;
    else if constexpr (std::is_same_v<T, bool>)
        return flag;
    else if constexpr (std::is_integral_v<T> || std::is_same_v<T, WallTime>)
        return number;
    else
        return other;
}

}  // namespace

Rows run_fields_of_docs() {
    Rows rows;
    const RunInfo any;
    run_fields(any, [&](const RunField& field, const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        const auto yes = [](bool is_set) { return std::string(is_set ? "yes" : ""); };
        rows.push_back({code(field.key), code(field.column),
                        std::string(type_of<T>("text", "number", "flag", "JSON")) +
                            (is_optional<T> ? " or null" : ""),
                        yes(field.separates), yes(!field.shared.empty()),
                        yes(field.report != Reported::no), yes(field.listed)});
    });
    return rows;
}

// The schema with each reported field that its members of a run lack.
std::string report_schema() {
    std::string text =
        read_file(std::filesystem::path(COMPAT_SOURCE_DIR) / "reports/schemas/report.schema.json")
            .value();
    std::size_t place = text.find("\n    \"run\": {");
    const std::string members = text.substr(place, text.find("\n    },", place) - place);
    place = text.find("        \"fingerprint\": {", place);
    const RunInfo any;
    run_fields(any, [&](const RunField& field, const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        const std::string name = fmt::format("\"{}\": ", field.key);
        if (field.report == Reported::no || members.find(name) != std::string::npos) return;
        std::string type =
            fmt::format("\"{}\"", type_of<T>("string", "integer", "boolean", "object"));
        if (is_optional<T> || field.report == Reported::or_null)
            type = fmt::format("[{}, \"null\"]", type);
        const std::string added = fmt::format("        {}{{\"type\": {}}},\n", name, type);
        text.insert(place, added);
        place += added.size();
    });
    return text;
}

}  // namespace compat::docs
