#include "parsers/import/unnamed.h"

#include <fmt/format.h>

#include <algorithm>

#include "parsers/framework_summary.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kWithoutNames = ", unnamed";

std::string describe_state(State state) {
    return state == State::not_run ? "not run" : std::string(name_of(state));
}

}  // namespace

OutcomeCounts counts_beyond_cases(const ModuleRecord& record, bool each_has_line) {
    OutcomeCounts named = optional_outcomes(record), beyond{};
    if (!record.closing) return beyond;
    for (const CaseRecord& c : record.cases)
        if (!c.id.ends_with("::<session>")) add_outcomes(named, c, record.framework);
    for (const CountedWord& known : counted_words(record.framework)) {
        const bool may_have_none = known.state == State::skipped || known.state == State::xfailed;
        if (each_has_line && !may_have_none) continue;
        const auto counted = std::min(count_in(*record.closing, known.word), kGreatestCount);
        beyond[known.state] = std::max<std::int64_t>(counted - named[known.state], 0);
    }
    return beyond;
}

bool UnnamedTests::any() const {
    return std::any_of(counts.begin(), counts.end(), [](auto n) { return n > 0; });
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
    std::string words;
    for (size_t i = 0; i < unnamed.counts.size(); ++i) {
        if (unnamed.counts[i] <= 0) continue;
        CaseRecord row;
        row.state = static_cast<State>(i);
        row.tests = unnamed.counts[i];
        row.name = fmt::format("<unnamed {}>", describe_state(row.state));
        row.id = fmt::format("{}::{}", path, row.name);
        row.pseudo = unnamed.pseudo && row.state != State::not_run;
        row.started = row.state != State::not_run && !row.pseudo;
        const std::string counted = fmt::format("{} {}", row.tests, describe_state(row.state));
        words += (words.empty() ? "" : ", ") + counted;
        row.reason = fmt::format("{}{}", counted, kWithoutNames);
        if (row.state == State::not_run && !unnamed.reason.empty())
            row.reason += "; " + unnamed.reason;
        record.cases.push_back(std::move(row));
    }
    words += kWithoutNames;
    record.diagnostics.push_back(
        {"log", static_cast<std::int64_t>(offset),
         advice.empty() ? words : fmt::format("{}; to have their names, {}", words, advice)});
}

std::string note_on_unnamed(const ModuleRecord& record) {
    for (const Diagnostic& said : record.diagnostics)
        if (said.message.find(kWithoutNames) != said.message.npos) return said.message;
    return {};
}

void number_unnamed(CaseRecord& row, int number) {
    if (number == 1) return;
    const size_t name = row.id.size() - row.name.size();
    row.name.back() = ' ';
    row.name += fmt::format("{}>", number);
    row.id = row.id.substr(0, name) + row.name;
}

}  // namespace compat::parsers
