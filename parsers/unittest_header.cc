#include "parsers/unittest_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "parsers/pattern.h"

namespace compat::parsers {

namespace {

// Names made by parametrising libraries hold more than identifiers do; all bytes past ASCII are
// taken for letters.
#define COMPAT_METHOD R"([\w.\-\x80-\xFF])"
#define COMPAT_QUALIFIED R"([\w.\-<>\x80-\xFF]+)"

// A name may hold anything, where it is said twice: since Python 3.11.
std::optional<UnittestHeader> odd_header_of(std::string_view line) {
    constexpr size_t kLongest = 1000;  // of the two together
    constexpr int kMostTries = 4;
    static const Pattern owned(COMPAT_QUALIFIED);
    const std::string_view head = line.substr(0, kLongest);
    size_t open = head.find(" (");
    for (int i = 0; i < kMostTries && open != std::string_view::npos; ++i) {
        const std::string_view method = head.substr(0, open);
        const size_t name = head.find(fmt::format(".{})", method), open + 2);
        if (name != std::string_view::npos && owned.match(head.substr(open + 2, name - open - 2))) {
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
    static const Pattern plain("(" COMPAT_METHOD "+) \\((" COMPAT_QUALIFIED ")\\)");
    if (line.find(" (") == std::string_view::npos) return std::nullopt;
    const auto found = plain.match_beginning(line);
    if (!found) return odd_header_of(line);
    const size_t size = (*found)[0].size();
    return UnittestHeader{(*found)[1], (*found)[2], line.substr(0, size - 1), line.substr(size)};
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
