#include "runner/analysis/agreement.h"

#include <algorithm>
#include <cctype>

#include "parsers/closing.h"
#include "runner/analysis/accounting.h"
#include "runner/analysis/comparison.h"
#include "runner/base/framework.h"

namespace compat::analysis {

using parsers::CaseRecord;
using parsers::ModuleRecord;
using parsers::Phase;
using parsers::State;

namespace {

struct Pair {
    const CaseRecord* before;  // null: that reading does not have the test
    const CaseRecord* after;
};

std::vector<Pair> changed_pairs(const ModuleRecord& before, const ModuleRecord& after) {
    Comparison compared(2);
    std::vector<Pair> pairs;  // by the test's index
    const auto add = [&](const ModuleRecord& record, size_t run, const CaseRecord* Pair::*side) {
        for (const CaseRecord& test : record.cases) {
            const auto added = compared.add(run, test.id, test.state);
            pairs.resize(compared.tests());
            if (!added.duplicate) pairs[added.test].*side = &test;
        }
    };
    add(before, 0, &Pair::before);
    add(after, 1, &Pair::after);
    std::vector<Pair> changed;
    for (const size_t test : compared.tests_that_differ()) changed.push_back(pairs[test]);
    return changed;
}

Difference difference_of(const Pair& pair) {
    const auto state = [](const CaseRecord* test) {
        return test ? std::optional(test->state) : std::nullopt;
    };
    return {
        (pair.before ? pair.before : pair.after)->id, state(pair.before), state(pair.after), {}};
}

bool is_in_fixture(const CaseRecord& test) {
    return test.phase == Phase::class_setup || test.phase == Phase::module_setup;
}

// unittest prints a name unquoted: only the characters of identifiers, and those that
// parametrising libraries add, separate it safely from the rest of the line.
bool is_ambiguous_name(const CaseRecord& test, std::string_view framework) {
    constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";
    if (!is_framework(framework, Framework::unittest)) return false;
    const auto is_plain = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x80 || std::isalnum(byte) ||
               std::string_view("_.-<>").find(c) != std::string_view::npos;
    };
    return test.name.find(kReplacementCharacter) != std::string::npos ||
           !std::all_of(test.name.begin(), test.name.end(), is_plain);
}

bool is_unnamed(const CaseRecord& test) {
    return test.id.ends_with(">") && !test.pseudo &&
           test.id.find("::<unnamed ") != std::string::npos;
}

// Whether the tests without a name in the text have the states of the tests that it leaves out.
bool unnamed_tests_account_for_missing(const std::vector<Pair>& pairs) {
    std::array<std::int64_t, parsers::kStateNames.size()> counts{};
    for (const auto& [before, after] : pairs) {
        if (before && !after) ++counts[static_cast<size_t>(before->state)];
        if (!before && is_unnamed(*after)) --counts[static_cast<size_t>(after->state)];
    }
    return std::all_of(counts.begin(), counts.end(), [](auto count) { return count == 0; });
}

bool closing_counts_agree(const ModuleRecord& events, const ModuleRecord& text) {
    const auto ours = expected_closing(events);
    if (!ours || !text.closing) return false;
    return ours->ran.value_or(0) == text.closing->ran.value_or(0) &&
           std::all_of(ours->counts.begin(), ours->counts.end(), [&](const auto& count) {
               return count.second == parsers::count_in(*text.closing, count.first);
           });
}

bool may_differ_by_death(const CaseRecord& test) {
    return test.pseudo || test.state == State::crashed || test.state == State::timed_out;
}

struct Readings {
    const ModuleRecord& events;
    const ModuleRecord& text;
    bool cut = false;
    bool counted_without_name = false;  // all tests that the text leaves out
};

std::optional<TextLimit> reason_for(const Pair& pair, const Readings& readings) {
    const auto [before, after] = pair;
    if (before && !before->pseudo && !before->started && is_in_fixture(*before))
        return TextLimit::under_fixture;
    if (!before && after->pseudo && is_in_fixture(*after)) return TextLimit::under_fixture;
    if (before && !after && before->state == State::not_run) return TextLimit::never_named;
    if (before && is_ambiguous_name(*before, readings.events.framework))
        return TextLimit::ambiguous_name;
    if (readings.counted_without_name && (!after || (!before && is_unnamed(*after))))
        return TextLimit::not_verbose;
    if (readings.cut) return TextLimit::output_is_lost;
    const bool died = readings.events.outcome == parsers::ModuleOutcome::crashed ||
                      readings.events.outcome == parsers::ModuleOutcome::timed_out;
    if (died &&
        ((before && may_differ_by_death(*before)) || (after && may_differ_by_death(*after))))
        return TextLimit::process_died;
    if (readings.text.closing) return std::nullopt;
    return readings.events.finished ? TextLimit::output_is_lost : TextLimit::process_died;
}

}  // namespace

std::vector<Difference> differences(const ModuleRecord& before, const ModuleRecord& after) {
    std::vector<Difference> list;
    for (const Pair& pair : changed_pairs(before, after)) list.push_back(difference_of(pair));
    return list;
}

std::vector<Difference> differences_of_text(const ModuleRecord& events, const ModuleRecord& text,
                                            bool cut) {
    const auto pairs = changed_pairs(events, text);
    const bool any_unnamed = std::any_of(text.cases.begin(), text.cases.end(), is_unnamed);
    const Readings readings{events, text, cut,
                            any_unnamed ? unnamed_tests_account_for_missing(pairs)
                                        : closing_counts_agree(events, text)};
    std::vector<Difference> list;
    for (const Pair& pair : pairs) {
        list.push_back(difference_of(pair));
        list.back().reason = reason_for(pair, readings);
    }
    return list;
}

}  // namespace compat::analysis
