#include "parsers/jsonl.h"

#include <fmt/format.h>

#include <limits>

namespace compat::parsers {

namespace {
using nlohmann::json;

const json& value_at(const json& object, const char* key) {
    static const json null;
    const auto it = object.find(key);
    return it == object.end() ? null : *it;
}
}  // namespace

void for_each_json_line(const LineSource& lines, Diagnoser& diagnose,
                        const JsonLineVisitor& visit) {
    bool going_on = true;
    std::uint64_t end = 0;
    const std::string why_not_all = lines.read([&](const Line& line) {
        end = line.offset + line.text.size() + line.cut_bytes;
        if (!going_on || trimmed(line.text).empty()) return;
        const auto offset = static_cast<size_t>(line.offset);
        if (line.cut_bytes > 0)
            return diagnose.add(offset, "the line is too long to be one of ours; skipped");
        if (json_nests_deeper(line.text))
            return diagnose.add(offset, "the line nests too deep to be one of ours; skipped");
        const json value = json::parse(line.text, nullptr, /*allow_exceptions=*/false);
        if (value.is_object())
            going_on = visit(value, offset);
        else
            diagnose.add(offset, line.complete ? "the line is not a JSON object; skipped"
                                               : "the last line was cut off; skipped");
    });
    if (!why_not_all.empty()) diagnose.add(static_cast<size_t>(end), why_not_all);
}

bool is_known_format(const json& session, size_t offset, Diagnoser& diagnose) {
    const std::int64_t format = integer_at(session, "format");
    if (format > kJsonLinesFormat)
        diagnose.add(offset,
                     fmt::format("format {} is newer than this reader's {}; nothing was read",
                                 format, kJsonLinesFormat));
    return format <= kJsonLinesFormat;
}

void LineCount::tell_dropped(Diagnoser& diagnose, std::string_view whose) const {
    if (seen > 0)
        diagnose.add(first, fmt::format("{} line(s) {}, dropped; the first one here", seen, whose));
}

std::string string_at(const json& object, const char* key) {
    const json& value = value_at(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

std::int64_t integer_at(const json& object, const char* key, std::int64_t fallback) {
    const json& value = value_at(object, key);
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
    return fits ? value.get<std::int64_t>() : fallback;
}

double number_at(const json& object, const char* key) {
    const json& value = value_at(object, key);
    return value.is_number() ? value.get<double>() : 0;
}

bool flag_at(const json& object, const char* key) {
    const json& value = value_at(object, key);
    return value.is_boolean() && value.get<bool>();
}

const json& child_at(const json& object, const char* key) {
    const json& value = value_at(object, key);
    static const json null;
    return value.is_structured() ? value : null;
}

Location location_at(const json& object) {
    const std::int64_t line = integer_at(object, "line");
    const bool fits = line >= 0 && line <= std::numeric_limits<int>::max();
    return {string_at(object, "file"), fits ? static_cast<int>(line) : 0};
}

}  // namespace compat::parsers
