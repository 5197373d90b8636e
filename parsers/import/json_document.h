// A whole JSON document of somebody else's: it may be cut off, nest without end, hold what is no
// UTF-8 and what is no JSON. Not for JSON lines (jsonl.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "parsers/text.h"

namespace compat::parsers {

// Returns null for a document that cannot be parsed, and adds a diagnostic with the offset of the
// error. Invalid bytes and escapes become U+FFFD. A missing comma between two objects of a list is
// accepted, because some programs forget it.
[[nodiscard]] nlohmann::json read_json(std::string_view bytes, Diagnoser& diagnose);

// Whether a file with this beginning is an object or a list.
[[nodiscard]] bool begins_as_json(std::string_view beginning);

}  // namespace compat::parsers
