// A whole JSON document of somebody else's, as far as it can be read: it may be cut off, nest
// without end, hold what is no UTF-8 and what is no JSON. Not for JSON lines (jsonl.h).
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace compat::parsers {

struct JsonDocument {
    nlohmann::json value;  // null where nothing could be read
    bool whole = true;     // false: it is read up to `end`, where an error lies
    size_t end = 0;
};

// What is complete before an error is kept. Bytes and escapes that are no Unicode are U+FFFD; a
// comma that lacks between two objects of a list is no error, as some programs forget it.
[[nodiscard]] JsonDocument read_json(std::string_view bytes);

// Whether a file with this beginning is an object or a list.
[[nodiscard]] bool begins_as_json(std::string_view beginning);

}  // namespace compat::parsers
