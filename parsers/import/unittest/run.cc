#include "parsers/import/unittest/run.h"

#include <algorithm>
#include <utility>

#include "parsers/framework_summary.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

std::optional<size_t> UnittestRun::find(const UnittestHeader& header) {
    auto i = names.last(cases, unittest_name_of(header));
    while (i && cases[*i].phase != unittest_phase_of(header)) i = names.before(*i);
    return i;
}

void UnittestRun::take_test(const UnittestHeader& header, UnittestNames& names, size_t after) {
    if (!cases.empty() && header.key == key_) {
        // Python 3.12 prints it once more for a second status, and after sub-tests.
        Outcomes& own = outcomes.back();
        const bool has_subs = !subs.empty() && subs.back().test + 1 == cases.size();
        if (has_subs) own.told_of = false;
        if (own.broken || own.good == State::skipped || has_subs) return;
    }
    verbose = true;
    key_ = header.key;
    dying_ = false;
    tail = after;
    cases.push_back(names.case_of(header));
    begun += cases.back().started;
    outcomes.emplace_back().after = after;
}

void UnittestRun::take_status(const UnittestStatus& status, size_t after) {
    tail = after;
    if (!is_open() && (status.state == State::skipped || outcomes.empty())) {
        // A class or module fixture that skips all under it is not named, up to Python 3.10.
        verbose = verbose || status.state == State::skipped;
        return;
    }
    Outcomes& own = outcomes.back();
    cases.back().duration_s += status.duration_s;
    if (is_failure(status.state)) {
        if (!own.broken) own.broken = status.state;
        return;
    }
    own.good = status.state;
    cases.back().reason = status.reason;
}

void UnittestRun::take_subtest(const UnittestEvent& event) {
    if (cases.empty() || event.header->key != key_) return take_text(event.line);
    outcomes.back().told_of = true;
    subs.push_back(
        {{valid_utf8(event.rest), event.status.state, event.status.reason, {}}, cases.size() - 1});
}

void UnittestRun::take_text(std::string_view line) {
    dying_ = dying_ || line.starts_with("Fatal Python error: ");
    if (!is_open()) return;
    // A dump's frames end with names of functions.
    const auto status = dying_ ? std::nullopt : unittest_status_at_end(line);
    outcomes.back().glued_is_last = status.has_value();
    if (!status) return;
    outcomes.back().glued = status->state;
    cases.back().duration_s = status->duration_s;
    cases.back().reason = status->reason;
}

bool UnittestRun::open_section(const UnittestEvent& title, size_t offset, size_t body) {
    const auto found = title.header ? find(*title.header) : std::nullopt;
    const bool of_test = title.header && unittest_phase_of(*title.header) == Phase::call;
    if (verbose && (!title.header || (of_test && !found))) return false;
    close_section(offset);
    sections.push_back({title.status.state, std::string(title.rest), offset, body, body});
    // Nothing stands under the title of an unexpected success.
    section_is_open_ = title.status.state != State::xpassed;
    if (found) outcomes[*found].told_of = true;
    return true;
}

void UnittestRun::close_section(size_t end) {
    if (section_is_open_) sections.back().end = std::max(end, sections.back().body);
    section_is_open_ = false;
}

bool UnittestRun::fits(const FrameworkSummary& closing) const {
    if (!verbose) {
        OutcomeCounts seen{};
        for (const UnittestRun::Section& section : sections) ++seen[section.state];
        return seen[State::failed] == count_in(closing, "failures") &&
               seen[State::errored] == count_in(closing, "errors");
    }
    if (is_open() && !outcomes.back().glued) return false;
    // Python 3.12.1 does not count what decorators skip.
    const std::int64_t more = begun - *closing.ran;
    const auto has_no_end = [](const Outcomes& one) { return one.is_open() && !one.glued; };
    return more == 0 || (more > 0 && more <= count_in(closing, "skipped") &&
                         std::ranges::none_of(outcomes, has_no_end));
}

}  // namespace compat::parsers
