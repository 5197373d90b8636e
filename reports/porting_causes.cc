#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <tuple>

#include "reports/porting_parts.h"
#include "runner/analysis/gaps.h"

namespace compat::reports {

using parsers::State;

namespace {

constexpr auto kFlaky = analysis::words_of(analysis::Judgement::flaky);
constexpr auto kCondition = analysis::words_of(analysis::Judgement::suite_condition);

std::string with_reason(std::string_view words, const std::string& reason) {
    return reason.empty() ? std::string(words) : fmt::format("{}: {}", words, reason);
}

// The same mistake is one thing to mend, whichever device tells of it.
std::string without_device(std::string signature) {
    static const RE2 device(R"((?i)\b(cuda|mps)(:(\d+|N))?\b)", RE2::Latin1);
    RE2::GlobalReplace(&signature, device, "device");
    return signature;
}

Group group_of(const Found& found) {
    constexpr Group kOfWorth[] = {Group::gain, Group::loss, Group::other};
    switch (found.change) {
        case Change::lost:
        case Change::fails_now:
            return Group::loss;
        case Change::no_longer:
        case Change::missing:
            // It did not run because its module, or a fixture of it, broke.
            return found.told.whys.empty() ? Group::idle : Group::loss;
        case Change::gained:
        case Change::runs_now:
            return Group::gain;
        case Change::added:
            return kOfWorth[static_cast<size_t>(worth_of(*found.here))];
        case Change::otherwise:
            break;
    }
    return Group::other;
}

const analysis::JudgementWords* judgement_of(const CauseOfDifferences& cause) {
    const auto at = std::find_if(analysis::kJudgements.begin(), analysis::kJudgements.end(),
                                 [&](const auto& words) { return words.name == cause.judgement; });
    return at == analysis::kJudgements.end() ? nullptr : &*at;
}

// Whether a test meets something else where fallback lets it go on.
bool meets_more(const PortingView& view, const PortedTest& test, size_t cause,
                const FallbacksOfTests& fallbacks) {
    for (const Difference& on : test.differences)
        if (on.column == Column::mps && view.causes[on.cause].group == Group::loss &&
            on.causes != std::vector<size_t>{cause})
            return true;
    const auto of_test = fallbacks.find(test.id);
    return of_test != fallbacks.end() &&
           std::any_of(of_test->second.begin(), of_test->second.end(), [&](const auto& symbol) {
               return symbol != view.causes[cause].gap->symbol;
           });
}

}  // namespace

bool is_operator(const CauseOfDifferences& cause) {
    return cause.gap && cause.gap->kind == GapKind::op_unsupported;
}

bool is_to_fix(const CauseOfDifferences& cause) {
    const auto* const words = judgement_of(cause);
    return cause.group == Group::loss && words && words->to_fix;
}

std::string_view judgement_words(const CauseOfDifferences& cause) {
    const auto* const words = judgement_of(cause);
    return words ? words->words : std::string_view{};
}

std::string unlike_words(const Unlike& unlike) {
    std::map<std::string, std::vector<std::string_view>> columns;
    for (const ColumnRow& row : kColumns) {
        const std::string& value = unlike.values[index_of(row.column)];
        if (!value.empty()) columns[value].push_back(row.brief);
    }
    std::vector<std::string> words;
    for (const auto& [value, of] : columns)
        words.push_back(fmt::format("{} on {}", value, fmt::join(of, ", ")));
    return fmt::format("{}: {}", unlike.what, fmt::join(words, "; "));
}

std::string verdict_words(const PortingView& view) {
    if (!view.compared) return "nothing to compare";
    // By what is simulated; the value says whether any of its columns exercised it.
    std::map<std::string_view, bool> exercised;
    std::map<std::string_view, std::string_view> names;
    for (const ColumnRow& row : kColumns) {
        if (!row.shim || !view.at(row.column).run) continue;
        exercised[row.simulated] |= view.at(row.column).exercised > 0;
        names.emplace(row.simulated, row.brief);
    }
    std::vector<std::string_view> spoke, silent;
    for (const auto& [device, any] : exercised) (any ? spoke : silent).push_back(names[device]);
    const auto to_fix = std::count_if(view.causes.begin(), view.causes.end(), is_to_fix);
    const auto tests =
        std::count_if(view.tests.begin(), view.tests.end(), [&](const PortedTest& test) {
            return std::any_of(
                test.differences.begin(), test.differences.end(),
                [&](const Difference& d) { return is_to_fix(view.causes[d.cause]); });
        });
    std::vector<std::string> parts;
    if (to_fix > 0)
        parts.push_back(fmt::format("{} thing{} to fix, in {} test{}", to_fix,
                                    to_fix == 1 ? "" : "s", tests, tests == 1 ? "" : "s"));
    else if (!spoke.empty())
        parts.push_back(fmt::format("nothing to fix was found on {}", fmt::join(spoke, " or ")));
    if (!silent.empty())
        parts.push_back(fmt::format("no test exercised {}", fmt::join(silent, " or ")));
    return fmt::format("{}", fmt::join(parts, "; "));
}

template <class Fill>
size_t Causes::entry(const std::string& key, Fill fill) {
    const auto [at, is_new] = index_.emplace(key, causes_.size());
    if (is_new) fill(causes_.emplace_back());
    return at->second;
}

size_t Causes::plain(Group group, std::string_view judgement, std::string title, bool ours,
                     std::string_view advice) {
    return entry(fmt::format("{}\n{}\n{}", name_of(group), judgement, title),
                 [&](CauseOfDifferences& cause) {
                     cause.group = group;
                     cause.judgement = judgement;
                     cause.title = std::move(title);
                     cause.advice = advice;
                     cause.title_is_ours = ours;
                 });
}

size_t Causes::of_loss(const Why& why) {
    using enum analysis::Grouped;
    const analysis::Judged& judged = analysis::judge(why.evidence);
    std::string detail;
    if (judged.grouped == by_rule) detail = why.rule;
    if (judged.grouped == by_place)
        detail = why.gap ? fmt::format("{} {}", name_of(why.gap->kind), why.gap->symbol)
                         : fmt::format("{} {} {}", without_device(why.signature), why.place,
                                       fmt::join(why.refused, " "));
    const auto row = &judged - analysis::judged().data();
    return entry(fmt::format("{}\n{}\n{}", name_of(Group::loss), row, detail),
                 [&](CauseOfDifferences& cause) {
                     cause.group = Group::loss;
                     cause.judgement = analysis::words_of(judged.judgement).name;
                     cause.title_is_ours = !judged.title.empty();
                     cause.title = judged.title.empty() ? why.key_line : judged.title;
                     if (judged.after_refusal)
                         cause.title +=
                             fmt::format(", after {} was refused", fmt::join(why.refused, ", "));
                     cause.advice = judged.advice;
                     cause.diagnosis = why.cause;
                     cause.error_class = why.error_class;
                     cause.rule = why.rule;
                     cause.signature = why.signature;
                     if (why.gap) describe_gap(cause, *why.gap);
                 });
}

void Causes::describe_gap(CauseOfDifferences& cause, const GapKey& key) const {
    cause.gap = key;
    const GapFacts facts = analysis::facts_of(key);
    const auto at = gaps_.find(key);
    const GapView* const logged = at == gaps_.end() ? nullptr : &at->second;
    if (!cause.title_is_ours) cause.title = logged ? logged->description : facts.description;
    if (cause.advice.empty()) cause.advice = logged ? logged->action : facts.action;
    if (!logged) return;
    cause.equivalent = logged->equivalent;
    cause.issue = logged->issue;
}

std::vector<size_t> Causes::of(const Found& found) {
    const Group group = group_of(found);
    if (found.flaky)
        return {plain(group, kFlaky.name, "tests that break and pass in one and the same run", true,
                      "mend these first, on plain CPU")};
    switch (group) {
        case Group::loss: {
            std::vector<size_t> causes;
            for (const Why& why : found.told.whys) {
                const size_t cause = of_loss(why);
                if (std::find(causes.begin(), causes.end(), cause) == causes.end())
                    causes.push_back(cause);
            }
            return causes;
        }
        case Group::idle:
            if (found.here == State::skipped)
                return {plain(group, kCondition.name,
                              with_reason(name_of(State::skipped), found.told.line), false,
                              "see whether the condition means this device")};
            if (found.cut_short || found.here)
                return {plain(group, "", with_reason("not run", found.told.line), false,
                              "resume the run, then compare again")};
            return {plain(group, kCondition.name, "collected on plain CPU alone", true,
                          "see by what the suite chooses its tests")};
        case Group::gain:
            if (found.change == Change::added)
                return {plain(group, "", "collected on a device alone", true)};
            return {plain(
                group, "",
                with_reason(fmt::format("{} on plain CPU", name_of(*found.cpu)), found.cpu_line),
                false)};
        case Group::other:
            break;
    }
    return {plain(group, "",
                  found.cpu
                      ? fmt::format("{} instead of {}", name_of(*found.here), name_of(*found.cpu))
                      : fmt::format("{}, and collected on a device alone", name_of(*found.here)),
                  true)};
}

void count_unblocked(PortingView& view, const FallbacksOfTests& fallbacks) {
    for (const PortedTest& test : view.tests) {
        const auto cpu = test.states[index_of(Column::cpu)];
        if (test.pseudo) continue;
        const bool breaks_on_cpu = cpu && worth_of(*cpu) == Worth::bad;
        std::set<size_t> counted;
        for (const Difference& difference : test.differences) {
            CauseOfDifferences& cause = view.causes[difference.cause];
            if (cause.group != Group::loss || difference.causes.size() > 1) continue;
            if (breaks_on_cpu && difference.change != Change::lost) continue;
            if (difference.column == Column::mps_strict && is_operator(cause) &&
                meets_more(view, test, difference.cause, fallbacks))
                continue;
            ++cause.unblocked[index_of(difference.column)];
            cause.unblocked_tests += counted.insert(difference.cause).second;
        }
    }
}

void rank_causes(PortingView& view) {
    std::vector<size_t> order(view.causes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](size_t i) {
        const CauseOfDifferences& cause = view.causes[i];
        return std::tuple(cause.group, !is_to_fix(cause), -cause.unblocked_tests, -cause.tests);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(a) < key(b); });
    std::vector<size_t> places(order.size());
    std::vector<CauseOfDifferences> ranked;
    for (size_t i = 0; i < order.size(); ++i) {
        places[order[i]] = i;
        ranked.push_back(std::move(view.causes[order[i]]));
    }
    view.causes = std::move(ranked);
    for (PortedTest& test : view.tests)
        for (Difference& difference : test.differences) {
            difference.cause = places[difference.cause];
            for (size_t& cause : difference.causes) cause = places[cause];
        }
}

}  // namespace compat::reports
