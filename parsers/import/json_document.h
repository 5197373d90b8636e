// JSON of somebody else's: it may be cut off, nest without end, hold what is no UTF-8 and what is no
// JSON. Not for our own JSON lines (jsonl.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "parsers/text.h"

namespace compat::parsers {

// Returns null for what cannot be parsed, and adds a diagnostic with the offset of the error. Invalid
// bytes and escapes become U+FFFD, and Python's NaN and Infinity null. A missing comma between two
// objects of a list is accepted, because some programs forget it. `what` stands at `offset` in the
// file.
[[nodiscard]] nlohmann::json read_json(std::string_view bytes, Diagnoser& diagnose,
                                       size_t offset = 0,
                                       std::string_view what = "the JSON document");

// Whether a file with this beginning is an object or a list.
[[nodiscard]] bool begins_as_json(std::string_view beginning);

}  // namespace compat::parsers
