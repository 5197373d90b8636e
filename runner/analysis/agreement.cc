#include "runner/analysis/agreement.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "parsers/closing.h"
#include "runner/analysis/accounting.h"
#include "runner/base/framework.h"

namespace compat::analysis {

using parsers::CaseRecord;
using parsers::ModuleRecord;
using parsers::Phase;
using parsers::State;

namespace {

struct Pair {
    const CaseRecord* before;  // null: that reading has no such test
    const CaseRecord* after;
};

std::vector<Pair> pairs_that_differ(const ModuleRecord& before, const ModuleRecord& after) {
    std::unordered_map<std::string_view, const CaseRecord*> known;
    for (const CaseRecord& test : after.cases) known.emplace(test.id, &test);
    std::vector<Pair> found;
    for (const CaseRecord& test : before.cases) {
        const auto at = known.find(test.id);
        const CaseRecord* const other = at == known.end() ? nullptr : at->second;
        if (other) known.erase(at);
        if (!other || other->state != test.state) found.push_back({&test, other});
    }
    for (const CaseRecord& test : after.cases)
        if (known.contains(test.id)) found.push_back({nullptr, &test});
    return found;
}

Difference difference_of(const Pair& pair) {
    const auto state = [](const CaseRecord* test) {
        return test ? std::optional(test->state) : std::nullopt;
    };
    return {
        (pair.before ? pair.before : pair.after)->id, state(pair.before), state(pair.after), {}};
}

bool is_of_fixture(const CaseRecord& test) {
    return test.phase == Phase::class_setup || test.phase == Phase::module_setup;
}

// unittest writes a name into its line as it is; what may stand in an identifier, and what
// parametrising libraries add, can be told from the rest of the line.
bool is_unspeakable(const CaseRecord& test, std::string_view framework) {
    constexpr std::string_view kReplaced = "\xEF\xBF\xBD";
    if (!is_framework(framework, Framework::unittest)) return false;
    const auto is_plain = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x80 || std::isalnum(byte) ||
               std::string_view("_.-<>").find(c) != std::string_view::npos;
    };
    return test.name.find(kReplaced) != std::string::npos ||
           !std::all_of(test.name.begin(), test.name.end(), is_plain);
}

bool is_unnamed(const CaseRecord& test) {
    return test.id.ends_with(">") && !test.pseudo &&
           test.id.find("::<unnamed ") != std::string::npos;
}

// How many tests the two count in each state, of those that only one of them names: what the text
// counts without a name, and what it says nothing of.
bool counts_agree(const std::vector<Pair>& pairs) {
    std::array<std::int64_t, parsers::kStateNames.size()> counts{};
    for (const auto& [before, after] : pairs) {
        if (before && !after) ++counts[static_cast<size_t>(before->state)];
        if (!before && is_unnamed(*after)) --counts[static_cast<size_t>(after->state)];
    }
    return std::all_of(counts.begin(), counts.end(), [](auto count) { return count == 0; });
}

// Whether the text's closing counts what the events have, test for test.
bool totals_agree(const ModuleRecord& events, const ModuleRecord& text) {
    const auto ours = expected_closing(events);
    if (!ours || !text.closing) return false;
    return ours->ran.value_or(0) == text.closing->ran.value_or(0) &&
           std::all_of(ours->counts.begin(), ours->counts.end(), [&](const auto& count) {
               return count.second == parsers::count_in(*text.closing, count.first);
           });
}

bool is_of_death(const CaseRecord& test) {
    return test.pseudo || test.state == State::crashed || test.state == State::timed_out;
}

struct Readings {
    const ModuleRecord& events;
    const ModuleRecord& text;
    bool cut = false;
    bool unnamed = false;  // what the text leaves out it counts without a name
};

std::optional<Untold> reason_for(const Pair& pair, const Readings& of) {
    const auto [before, after] = pair;
    if (before && !before->pseudo && !before->started && is_of_fixture(*before))
        return Untold::under_fixture;
    if (!before && after->pseudo && is_of_fixture(*after)) return Untold::under_fixture;
    if (before && !after && before->state == State::not_run) return Untold::never_named;
    if (before && is_unspeakable(*before, of.events.framework)) return Untold::unspeakable_name;
    if (of.unnamed && (!after || (!before && is_unnamed(*after)))) return Untold::not_verbose;
    if (of.cut) return Untold::output_is_lost;
    const bool died = of.events.outcome == parsers::ModuleOutcome::crashed ||
                      of.events.outcome == parsers::ModuleOutcome::timed_out;
    if (died && ((before && is_of_death(*before)) || (after && is_of_death(*after))))
        return Untold::process_died;
    if (of.text.closing) return std::nullopt;
    return of.events.finished ? Untold::output_is_lost : Untold::process_died;
}

}  // namespace

std::vector<Difference> differences(const ModuleRecord& before, const ModuleRecord& after) {
    std::vector<Difference> found;
    for (const Pair& pair : pairs_that_differ(before, after)) found.push_back(difference_of(pair));
    return found;
}

std::vector<Difference> differences_of_text(const ModuleRecord& events, const ModuleRecord& text,
                                            bool cut) {
    const auto pairs = pairs_that_differ(events, text);
    const bool any_unnamed = std::any_of(text.cases.begin(), text.cases.end(), is_unnamed);
    const Readings of{events, text, cut,
                      any_unnamed ? counts_agree(pairs) : totals_agree(events, text)};
    std::vector<Difference> found;
    for (const Pair& pair : pairs) {
        found.push_back(difference_of(pair));
        found.back().why = reason_for(pair, of);
    }
    return found;
}

}  // namespace compat::analysis
