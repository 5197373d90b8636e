#include "parsers/jsonl.h"

#include <limits>

namespace compat::parsers {

namespace {
using nlohmann::json;

// Our formats nest 4 deep. The bound keeps a line of brackets from costing memory a hundred times
// its size.
constexpr int kDeepest = 64;

bool nests_too_deep(std::string_view line) {
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quoted) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > kDeepest) return true;
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return false;
}

const json& value_at(const json& object, const char* key) {
    static const json null;
    const auto it = object.find(key);
    return it == object.end() ? null : *it;
}
}  // namespace

void for_each_json_line(std::string_view bytes, Diagnoser& diagnose, const JsonLineVisitor& visit) {
    for (Lines lines(bytes); lines.next();) {
        if (trimmed(lines.line()).empty()) continue;
        if (nests_too_deep(lines.line())) {
            diagnose.add(lines.offset(), "the line nests too deep to be one of ours; skipped");
            continue;
        }
        const json value = json::parse(lines.line(), nullptr, /*allow_exceptions=*/false);
        if (!value.is_object()) {
            diagnose.add(lines.offset(), lines.complete() ? "the line is not a JSON object; skipped"
                                                          : "the last line was cut off; skipped");
            continue;
        }
        if (!visit(value, lines.offset())) return;
    }
}

std::string string_at(const json& object, const char* key) {
    const json& value = value_at(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

std::int64_t integer_at(const json& object, const char* key, std::int64_t fallback) {
    const json& value = value_at(object, key);
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() >
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return fallback;
    return value.is_number_integer() ? value.get<std::int64_t>() : fallback;
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
