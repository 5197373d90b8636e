#include "parsers/hub_uses.h"

#include <functional>
#include <utility>

#include "parsers/jsonl.h"
#include "runner/base/names.h"

namespace compat::parsers {

namespace {

constexpr std::size_t kNameBytes = 300;
// All tests of an attempt together. No module comes near it.
constexpr std::size_t kMostNames = 200'000;

bool ran(const CaseRecord& test) {
    return !test.pseudo && test.state != State::not_run && test.state != State::skipped;
}

}  // namespace

void HubUses::Names::add(std::string name) {
    seen.insert(std::hash<std::string>()(name));
    kept.insert(std::move(name));
    if (kept.size() > kMostHubNames) kept.erase(std::prev(kept.end()));
}

HubNames HubUses::Names::use() const {
    return {{kept.begin(), kept.end()}, static_cast<std::int64_t>(seen.size())};
}

HubUses HubUses::parse(const LineSource& lines) {
    HubUses uses;
    Diagnoser diagnose("hub", uses.diagnostics_);
    std::size_t names = 0;
    for_each_json_line(lines, diagnose, [&](const nlohmann::json& line, size_t offset) {
        if (line.contains("format")) return is_known_format(line, offset, diagnose);
        std::string name = string_at(line, "repository");
        if (name.empty()) name = string_at(line, "address");
        if (name.empty()) {
            diagnose.add(offset, "the line names no repository and no address; skipped");
            return true;
        }
        const bool is_missing = flag_at(line, "missing");
        if (!is_missing && !flag_at(line, "generated")) return true;
        Names& of_test =
            (is_missing ? uses.missing_ : uses.generated_)[string_at(line, "test")];
        const std::size_t before = of_test.seen.size();
        of_test.add(std::string(first_bytes(name, kNameBytes)));
        names += of_test.seen.size() - before;
        if (names < kMostNames) return true;
        diagnose.add(offset, "the tests use more than a module does; the rest was not read");
        return false;
    });
    return uses;
}

HubNames HubUses::used(const ByTest& by_test, const CaseRecord& test) {
    Names names;
    if (const auto own = by_test.find(test.id); own != by_test.end() && !test.id.empty())
        names = own->second;
    if (const auto outside = by_test.find(""); outside != by_test.end() && ran(test)) {
        names.seen.insert(outside->second.seen.begin(), outside->second.seen.end());
        for (const std::string& name : outside->second.kept) names.add(name);
    }
    return names.use();
}

void HubUses::add_to(std::vector<CaseRecord>& cases) const {
    for (CaseRecord& test : cases) {
        test.generated = used(generated_, test);
        test.missing = used(missing_, test);
    }
}

}  // namespace compat::parsers
