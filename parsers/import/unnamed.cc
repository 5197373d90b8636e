#include "parsers/import/unnamed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "parsers/framework_summary.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

// The state of a row that stands for several: the first of these that any has. An unexpected
// success may be a failure.
constexpr std::array kByWeight{State::crashed, State::timed_out, State::failed, State::errored,
                               State::not_run, State::xpassed,   State::passed, State::xfailed,
                               State::skipped, State::xpassed};

std::string words_of(const UnnamedTests& unnamed) {
    std::string words = unnamed.ran > 0 ? fmt::format("{} ran, ", unnamed.ran) : "";
    for (size_t i = 0; i < unnamed.counts.size(); ++i)
        if (unnamed.counts[i] > 0) {
            const auto state = static_cast<State>(i);
            words += fmt::format("{} {}, ", unnamed.counts[i],
                                 state == State::not_run ? "not run" : name_of(state));
        }
    return words + "unnamed";
}

}  // namespace

OutcomeCounts counts_beyond_cases(const ModuleRecord& record, bool each_has_line) {
    OutcomeCounts named{}, beyond{};
    for (const CaseRecord& c : record.cases)
        if (!c.id.ends_with("::<session>")) add_outcomes(named, c, record.framework);
    for (const CountedWord& known : counted_words(record.framework)) {
        if (each_has_line && known.state != State::skipped) continue;
        const auto counted = std::min(count_in(*record.closing, known.word), kGreatestCount);
        beyond[known.state] = std::max<std::int64_t>(counted - named[known.state], 0);
    }
    return beyond;
}

bool UnnamedTests::any() const {
    return ran > 0 || std::any_of(counts.begin(), counts.end(), [](auto n) { return n > 0; });
}

CaseRecord unnamed_row(std::string_view path) {
    CaseRecord row;
    row.name = kUnnamed;
    row.id = fmt::format("{}::{}", path, kUnnamed);
    row.started = true;
    return row;
}

void add_unnamed(ModuleRecord& record, std::string_view path, const UnnamedTests& unnamed,
                 size_t offset, std::string_view advice) {
    if (!unnamed.any()) return;
    const std::string words = words_of(unnamed);
    CaseRecord row = unnamed_row(path);
    row.pseudo = unnamed.pseudo;
    const FrameworkTraits* const traits = traits_of(record.framework);
    const bool fails_on_xpassed = traits && traits->fails_on_xpassed;
    for (size_t i = kByWeight.size(); i-- > 0;) {
        const State state = kByWeight[i];
        const bool has = unnamed.counts[state] > 0 || (state == State::passed && unnamed.ran > 0);
        const bool is_first = i + 1 < kByWeight.size();
        if (has && (state != State::xpassed || is_first == fails_on_xpassed)) row.state = state;
    }
    row.started = row.state != State::not_run && !row.pseudo;
    row.reason = words;
    if (unnamed.counts[State::not_run] > 0 && !unnamed.reason.empty())
        row.reason += "; " + unnamed.reason;
    record.cases.push_back(std::move(row));
    record.diagnostics.push_back(
        {"log", static_cast<std::int64_t>(offset),
         advice.empty() ? words : fmt::format("{}; to have their names, {}", words, advice)});
}

void number_unnamed(CaseRecord& row, int number) {
    if (number == 1) return;
    row.name = fmt::format("<unnamed {}>", number);
    row.id = row.id.substr(0, row.id.size() - kUnnamed.size()) + row.name;
}

}  // namespace compat::parsers
