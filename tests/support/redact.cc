#include "tests/support/redact.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "runner/base/files.h"
#include "tests/paths.h"

namespace compat::test {

std::string redacted(std::string text,
                     const std::vector<std::pair<std::string, std::string>>& names) {
    for (const auto& [from, to] : names)
        for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
            text.replace(at, from.size(), to);
    static const std::pair<std::regex, const char*> kPatterns[] = {
        {std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"), "YYYY-MM-DDThh:mm:ssZ"},
        {std::regex(R"(_\d{8}-\d{6}-[0-9a-f]{4}\b)"), "_yyyymmdd-hhmmss-rrrr"},
        {std::regex(R"(\b(\d+h \d\dm|\d+m \d\ds|\d+\.\ds)(?!\w))"), "t.ts"},
    };
    for (const auto& [pattern, to] : kPatterns) text = std::regex_replace(text, pattern, to);
    return text;
}

void expect_golden(const std::string& name, const std::string& text) {
    expect_file("tests/golden/" + name, text);
}

void expect_file(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(COMPAT_SOURCE_DIR) / name;
    if (std::getenv("COMPAT_UPDATE_GOLDEN") != nullptr) {
        ASSERT_TRUE(write_file(path, text));
        return;
    }
    const auto expected = read_file(path);
    ASSERT_TRUE(expected) << "no " << path
                          << ": run with COMPAT_UPDATE_GOLDEN=1 and read what it writes";
    EXPECT_EQ(text, *expected) << "COMPAT_UPDATE_GOLDEN=1 rewrites " << path;
}

}  // namespace compat::test
