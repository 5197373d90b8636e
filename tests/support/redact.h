// Takes out of a text what differs from run to run and from host to host, at fixed width where the
// text is a table, so that it compares with a golden file.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace compat::test {

// Each first string becomes its second; then ISO times, run ids' times, and durations as people
// read them.
[[nodiscard]] std::string redacted(std::string text,
                                   const std::vector<std::pair<std::string, std::string>>& names);

// Compares with tests/golden/<name>. Where COMPAT_UPDATE_GOLDEN is set, writes it instead.
void expect_golden(const std::string& name, const std::string& text);
// The same of any file that a test writes; `path` counts from the top of the source tree.
void expect_file(const std::string& path, const std::string& text);

}  // namespace compat::test
