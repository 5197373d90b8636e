#include "parsers/import/unittest/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace compat::parsers {

namespace {

// What may stand in the names of a header, by byte.
enum : std::uint8_t { kMethod = 1, kQualified = 2 };

constexpr std::array<std::uint8_t, 256> kNameBytes = [] {
    std::array<std::uint8_t, 256> table{};
    const auto set = [&](std::string_view bytes, std::uint8_t where) {
        for (const char c : bytes) table[static_cast<unsigned char>(c)] |= where;
    };
    set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", kMethod | kQualified);
    // Names made by parametrising libraries hold more than identifiers do.
    set(".-", kMethod | kQualified);
    set("<>", kQualified);
    // Python's identifiers may hold any letter; all bytes past ASCII are taken for letters.
    for (size_t byte = 0x80; byte < table.size(); ++byte) table[byte] = kMethod | kQualified;
    return table;
}();

size_t name_length(std::string_view text, std::uint8_t where) {
    size_t n = 0;
    while (n < text.size() && (kNameBytes[static_cast<unsigned char>(text[n])] & where) != 0) ++n;
    return n;
}

// A name may hold anything, where it is said twice: since Python 3.11.
std::optional<UnittestHeader> odd_header_of(std::string_view line) {
    constexpr size_t kLongest = 1000;  // of the two together
    constexpr int kMostTries = 4;
    const std::string_view head = line.substr(0, kLongest);
    size_t open = head.find(" (");
    for (int i = 0; i < kMostTries && open != std::string_view::npos; ++i) {
        const std::string_view method = head.substr(0, open);
        const size_t owner = name_length(head.substr(open + 2), kQualified);
        // The first letters of the method may be such as an owner's name holds, too.
        const size_t name = head.find(fmt::format(".{})", method), open + 2);
        if (name != std::string_view::npos && name <= open + 2 + owner && name > open + 2) {
            const size_t end = name + 1 + method.size();
            return UnittestHeader{method, line.substr(open + 2, end - open - 2),
                                  line.substr(0, end), line.substr(end + 1)};
        }
        open = head.find(" (", open + 1);
    }
    return std::nullopt;
}

}  // namespace

std::optional<UnittestHeader> header_of(std::string_view line) {
    const size_t method = name_length(line, kMethod);
    if (method == 0 || !line.substr(method).starts_with(" (")) return odd_header_of(line);
    const std::string_view inside = line.substr(method + 2);
    const size_t qualified = name_length(inside, kQualified);
    if (qualified == 0 || qualified >= inside.size() || inside[qualified] != ')')
        return std::nullopt;
    return UnittestHeader{line.substr(0, method), inside.substr(0, qualified),
                          line.substr(0, method + 2 + qualified), inside.substr(qualified + 1)};
}

std::optional<UnittestHeader> header_within(std::string_view line) {
    constexpr std::string_view kClose = ") ... ";
    const size_t close = line.find(kClose);
    if (close == std::string_view::npos) return std::nullopt;
    const size_t open = line.substr(0, close).rfind(" (");
    if (open == std::string_view::npos) return std::nullopt;
    const std::string_view before = line.substr(0, open);
    const std::string_view qualified = line.substr(open + 2, close - open - 2);
    const size_t dot = qualified.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view last = qualified.substr(dot + 1);
    size_t begin = before.size() - std::min(before.size(), last.size());
    if (!before.ends_with(last)) {
        const size_t word =
            before.size() -
            static_cast<size_t>(std::find_if(before.rbegin(), before.rend(),
                                             [](char c) {
                                                 return (kNameBytes[static_cast<unsigned char>(c)] &
                                                         kMethod) == 0;
                                             }) -
                                before.rbegin());
        constexpr std::string_view kTest = "test";
        begin = before.find(kTest, word);
        if (begin == std::string_view::npos) return std::nullopt;
        // No part of another word ("latest", "contested").
        const std::string_view rest = before.substr(begin + kTest.size());
        if (rest.empty() || std::islower(static_cast<unsigned char>(rest.front())))
            return std::nullopt;
    }
    return header_of(line.substr(begin));
}

const UnittestFixture* unittest_fixture_of(std::string_view method) {
    static constexpr std::array<UnittestFixture, 4> kFixtures{{
        {"setUpClass", "<setUpClass>", Phase::class_setup, true},
        {"tearDownClass", "<tearDownClass>", Phase::class_teardown, true},
        {"setUpModule", "<setUpModule>", Phase::module_setup, false},
        {"tearDownModule", "<tearDownModule>", Phase::module_teardown, false},
    }};
    const auto* const it =
        std::find_if(kFixtures.begin(), kFixtures.end(),
                     [&](const UnittestFixture& f) { return f.method == method; });
    return it == kFixtures.end() ? nullptr : it;
}

}  // namespace compat::parsers
