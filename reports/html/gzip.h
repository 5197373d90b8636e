// Compression of a page's parts. Not for reading what others compressed
// (runner/archive/imported/input_decoder.h).
#pragma once

#include <string>

namespace compat::reports {

[[nodiscard]] std::string gzipped(const std::string& text);

}  // namespace compat::reports
