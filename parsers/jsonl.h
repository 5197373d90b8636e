// JSON lines as the harness and the shim write them (docs/reference/file-formats.md): each line an
// object. Not for what the objects mean: events.cc and devices.cc say that.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "parsers/text.h"
#include "parsers/text_source.h"

namespace compat::parsers {

// The newest format of these files that this reader knows.
inline constexpr std::int64_t kJsonLinesFormat = 1;

// Called with each line's object and its byte offset; false ends the reading.
using JsonLineVisitor = std::function<bool(const nlohmann::json&, size_t offset)>;

// Lines that are no JSON object, nest deeper than our formats ever do, are longer than they ever
// are or were cut off are skipped and diagnosed. Empty lines are skipped.
void for_each_json_line(const LineSource& lines, Diagnoser& diagnose, const JsonLineVisitor& visit);

// Whether the file that begins with this line has a format that this reader knows; a diagnostic
// where it has not.
[[nodiscard]] bool is_known_format(const nlohmann::json& session, size_t offset,
                                   Diagnoser& diagnose);

// Lines that are one thing, of which one diagnostic tells.
struct LineCount {
    std::int64_t seen = 0;
    size_t first = 0;  // offset

    void add(size_t offset) {
        if (seen++ == 0) first = offset;
    }
    // "3 line(s) of other processes, dropped; the first one here", where `whose` is "of other
    // processes"; nothing where there are none.
    void tell_dropped(Diagnoser& diagnose, std::string_view whose) const;
};

// A key's value, or the fallback where it is absent or of another type.
[[nodiscard]] std::string string_at(const nlohmann::json& object, const char* key);
[[nodiscard]] std::int64_t integer_at(const nlohmann::json& object, const char* key,
                                      std::int64_t fallback = 0);
[[nodiscard]] double number_at(const nlohmann::json& object, const char* key);
[[nodiscard]] bool flag_at(const nlohmann::json& object, const char* key);
// An object or array; null where it is absent.
[[nodiscard]] const nlohmann::json& child_at(const nlohmann::json& object, const char* key);
// "file" and "line".
[[nodiscard]] Location location_at(const nlohmann::json& object);

}  // namespace compat::parsers
