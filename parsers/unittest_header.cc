#include "parsers/unittest_header.h"

#include <algorithm>
#include <array>
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

}  // namespace

std::optional<UnittestHeader> header_of(std::string_view line) {
    const size_t method = name_length(line, kMethod);
    if (method == 0 || !line.substr(method).starts_with(" (")) return std::nullopt;
    const std::string_view inside = line.substr(method + 2);
    const size_t qualified = name_length(inside, kQualified);
    if (qualified == 0 || qualified >= inside.size() || inside[qualified] != ')')
        return std::nullopt;
    return UnittestHeader{line.substr(0, method), inside.substr(0, qualified),
                          line.substr(0, method + 2 + qualified), inside.substr(qualified + 1)};
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
