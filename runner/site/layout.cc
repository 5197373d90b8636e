#include "runner/site/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>

#include "runner/base/names.h"

namespace compat::site {

namespace {

// A power of two: pages keep their tests until the suite is twice as large.
std::uint32_t pages_for(std::int64_t tests) {
    const auto size = static_cast<std::int64_t>(kTestsOfPage);
    return std::bit_ceil(
        static_cast<std::uint32_t>(std::max<std::int64_t>(1, (tests + size - 1) / size)));
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

}  // namespace

std::map<std::string, std::string> short_names(const std::vector<std::string>& names) {
    std::map<std::string, std::string> all;
    std::map<std::string, int> uses;
    for (const std::string& name : names) all.emplace(name, short_name(name));
    for (const auto& [name, made] : all) ++uses[lower(made)];
    for (auto& [name, made] : all)
        if (uses[lower(made)] > 1) made += fmt::format("-{:08x}", short_hash(name));
    return all;
}

bool TestsPage::has(std::string_view test) const {
    return parts == 1 || (short_hash(test) & (parts - 1)) == part;
}

std::vector<TestsPage> tests_pages(const std::vector<ModuleSize>& modules) {
    std::int64_t small = 0;
    const auto is_large = [](const ModuleSize& module) {
        return module.tests > 2 * static_cast<std::int64_t>(kTestsOfPage);
    };
    for (const ModuleSize& module : modules)
        if (!is_large(module)) small += module.tests;
    const std::uint32_t count = pages_for(small);
    std::vector<TestsPage> pages(count);
    for (std::uint32_t i = 0; i < count; ++i) pages[i].name = fmt::format("tests-{}.html", i);
    for (const ModuleSize& module : modules) {
        const std::uint32_t hash = short_hash(module.path);
        if (!is_large(module)) {
            pages[hash & (count - 1)].modules.push_back(module.path);
            continue;
        }
        const std::uint32_t parts = pages_for(module.tests);
        for (std::uint32_t part = 0; part < parts; ++part)
            pages.push_back(
                {fmt::format("tests-{:08x}-{}.html", hash, part), {module.path}, part, parts});
    }
    std::erase_if(pages, [](const TestsPage& page) { return page.modules.empty(); });
    return pages;
}

}  // namespace compat::site
