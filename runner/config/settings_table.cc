#include "runner/config/settings_table.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "runner/base/nearest.h"
#include "runner/prepare/cache.h"
#include "runner/prepare/prepare.h"
#include "suites/units.h"

namespace compat::config {

namespace {

// A 64-bit count of nanoseconds overflows after 292 years.
constexpr std::chrono::hours kLongest{24 * 365};

std::optional<Refusal> refuse_word(const SettingRow& row, std::string_view text) {
    const std::vector<std::string> words = words_of(row.allowed);
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::nullopt;
    const std::string guess = did_you_mean(nearest(text, words, 1));
    return Refusal{fmt::format("\"{}\" is not allowed", text),
                   fmt::format("{}use one of {}", guess.empty() ? "" : guess + " ", row.allowed)};
}

std::optional<Refusal> refuse_number(const SettingRow& row, std::string_view text) {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc{} && read == end && number >= row.least && number <= row.most)
        return std::nullopt;
    return Refusal{row.is_count() ? fmt::format("\"{}\" is not a number of {}", text, row.name)
                                  : fmt::format("\"{}\" is not a whole number", text),
                   fmt::format("use a whole number from {} to {}", row.least, row.most)};
}

std::optional<Refusal> refuse_size(std::string_view text) {
    static const RE2 size("0*[1-9][0-9]{0,11}([KkMmGgTt]([iI]?[bB])?)?");
    if (RE2::FullMatch(text, size)) return std::nullopt;
    return Refusal{fmt::format("\"{}\" is not a size", text), "write it as 8G, 512M or in bytes"};
}

std::optional<Refusal> refuse_device(const SettingRow& row, std::string_view text) {
    const std::vector<std::string> words = words_of(row.allowed);
    const std::size_t colon = text.find(':');
    const bool known = std::ranges::find(words, text.substr(0, colon)) != words.end();
    static const RE2 index("[0-9]{1,3}");
    if (known && (colon == std::string_view::npos ||
                  (text != "auto" && RE2::FullMatch(text.substr(colon + 1), index))))
        return std::nullopt;
    return Refusal{fmt::format("\"{}\" is not a device", text),
                   fmt::format("use one of {}, or one with an index, such as cuda:1", row.allowed)};
}

std::optional<Refusal> refuse_decimal(const SettingRow& row, std::string_view text) {
    static const RE2 decimal("[0-9]{1,9}([.][0-9]{1,9})?");
    const bool is_fraction = row.type == Type::fraction;
    if (RE2::FullMatch(text, decimal)) {
        const double number = std::stod(std::string(text));
        if (is_fraction ? number > 0 && number <= 1 : number >= row.least) return std::nullopt;
    }
    if (is_fraction)
        return Refusal{fmt::format("\"{}\" is not a fraction", text),
                       "use a number above 0, at most 1, such as 0.8"};
    return Refusal{fmt::format("\"{}\" is not an amount", text),
                   fmt::format("use a number of {}, at least {}, such as {}", row.allowed,
                               row.least, row.fixed)};
}

std::optional<Refusal> refuse_duration(std::string_view text) {
    const auto duration = suites::parse_duration(text);
    if (!duration)
        return Refusal{fmt::format("\"{}\" is not a duration", text),
                       "write it as 90s, 30m or 1h30m"};
    if (*duration > kLongest)
        return Refusal{fmt::format("\"{}\" is too long", text),
                       fmt::format("use a duration from 1ms to {}h", kLongest.count())};
    return std::nullopt;
}

}  // namespace

std::vector<std::string> words_of(std::string_view allowed) {
    std::vector<std::string> words;
    while (true) {
        const std::size_t bar = allowed.find('|');
        words.emplace_back(allowed.substr(0, bar));
        if (bar == std::string_view::npos) return words;
        allowed.remove_prefix(bar + 1);
    }
}

const SettingRow& row_of(Setting setting) {
    return *std::find_if(kSettings.begin(), kSettings.end(),
                         [&](const SettingRow& row) { return row.setting == setting; });
}

std::string_view long_flag(const SettingRow& row) {
    return row.flag.substr(row.flag.rfind(',') + 1);
}

bool is_path(const SettingRow& row, std::string_view value) {
    if (row.type != Type::path) return false;
    const auto words = words_of(row.allowed);
    return std::find(words.begin(), words.end(), value) == words.end();
}

std::optional<Refusal> refuse(const SettingRow& row, std::string_view text) {
    if (text.empty()) return Refusal{"the value is empty", "give one, or leave it out"};
    switch (row.type) {
        case Type::words:
        case Type::on_off:
            return refuse_word(row, text);
        case Type::number:
            return refuse_number(row, text);
        case Type::duration:
            return refuse_duration(text);
        case Type::size:
            return refuse_size(text);
        case Type::device:
            return refuse_device(row, text);
        case Type::fraction:
        case Type::amount:
            return refuse_decimal(row, text);
        case Type::path:
        case Type::program:
        case Type::text:
            return std::nullopt;
    }
    return std::nullopt;
}

std::uint64_t bytes_of(std::string_view size) {
    constexpr std::string_view kUnits = "kmgt";
    std::uint64_t bytes = 0;
    const auto* const end = std::from_chars(size.data(), size.data() + size.size(), bytes).ptr;
    if (end == size.data() + size.size()) return bytes;
    const auto unit = kUnits.find(static_cast<char>(*end | 0x20));
    return unit == kUnits.npos ? bytes : bytes << (10 * (unit + 1));
}

std::string default_of(const SettingRow& row) {
    if (!row.fixed.empty()) return std::string(row.fixed);
    switch (row.setting) {
        case Setting::jobs:
            return std::to_string(
                std::clamp<unsigned>(std::thread::hardware_concurrency(), 1, kMostJobs));
        case Setting::torch_requirement:
            return std::string(prepare::kTorchRequirement);
        case Setting::cache:
            return prepare::Cache::default_root().string();
        default:
            return {};
    }
}

}  // namespace compat::config
