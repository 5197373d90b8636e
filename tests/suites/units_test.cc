#include "suites/units.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "suites/schema.h"

namespace compat::suites {
namespace {

using std::chrono::milliseconds;

struct DurationCase {
    std::string_view text;
    std::optional<milliseconds> value;
};

constexpr DurationCase kDurations[] = {
    {"30m", milliseconds(1'800'000)},
    {"5s", milliseconds(5'000)},
    {"1h30m", milliseconds(5'400'000)},
    {"1h0m5s250ms", milliseconds(3'605'250)},
    {"500ms", milliseconds(500)},
    {"007s", milliseconds(7'000)},
    {"999999999h", milliseconds(3'599'999'996'400'000)},
    {"0s", std::nullopt},
    {"", std::nullopt},
    {"30", std::nullopt},
    {"30 m", std::nullopt},
    {"m", std::nullopt},
    {"-5s", std::nullopt},
    {"1.5h", std::nullopt},
    {"30m1h", std::nullopt},
    {"5s5s", std::nullopt},
    {"1d", std::nullopt},
    {"9999999999s", std::nullopt},
};

struct SizeCase {
    std::string_view text;
    std::optional<std::uint64_t> value;
};

constexpr SizeCase kSizes[] = {
    {"64MiB", 64ull << 20}, {"6GiB", 6ull << 30},       {"1KiB", 1024},
    {"512B", 512},          {"0B", std::nullopt},       {"64MB", std::nullopt},
    {"64", std::nullopt},   {"1GiB1MiB", std::nullopt}, {"MiB", std::nullopt},
    {"", std::nullopt},     {"1.5GiB", std::nullopt},   {"9999999999B", std::nullopt},
};

// The schema has the same grammar as a pattern: both accept the same text.
bool schema_takes(const char* definition, std::string_view text) {
    const auto schema = nlohmann::json::parse(schema_text());
    const std::regex pattern(schema["definitions"][definition]["pattern"].get<std::string>());
    return std::regex_search(std::string(text), pattern);
}

TEST(Units, ParsesDurations) {
    for (const auto& [text, value] : kDurations) {
        EXPECT_EQ(parse_duration(text), value) << text;
        EXPECT_EQ(schema_takes("duration", text), value.has_value()) << text;
    }
}

TEST(Units, ParsesSizes) {
    for (const auto& [text, value] : kSizes) {
        EXPECT_EQ(parse_size(text), value) << text;
        EXPECT_EQ(schema_takes("size", text), value.has_value()) << text;
    }
}

}  // namespace
}  // namespace compat::suites
