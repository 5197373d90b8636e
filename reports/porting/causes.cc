// Groups the differences between columns by cause (parts.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "reports/porting/parts.h"
#include "runner/analysis/gaps.h"
#include "runner/base/text.h"

namespace compat::reports {

using parsers::State;

namespace {

constexpr auto kFlaky = analysis::words_of(analysis::Judgement::flaky);
constexpr auto kCondition = analysis::words_of(analysis::Judgement::suite_condition);

std::string with_reason(std::string_view words, const std::string& reason) {
    return reason.empty() ? std::string(words) : fmt::format("{}: {}", words, reason);
}

// A row that says that a module or fixture broke is there only where it does.
bool loads_here_alone(const UngroupedDifference& difference) {
    return difference.change == Change::missing && difference.pseudo && difference.cpu &&
           kind_of(*difference.cpu) == StateKind::broken && !difference.incomplete_column &&
           difference.details.failures.empty();
}

Group group_of(const UngroupedDifference& difference) {
    constexpr Group kGroupOfKind[] = {Group::gain, Group::loss, Group::other};
    switch (difference.change) {
        case Change::lost:
        case Change::fails_now:
            return Group::loss;
        case Change::no_longer:
        case Change::missing:
            if (loads_here_alone(difference)) return Group::gain;
            // With failures: it did not run because its module or fixture broke.
            return difference.details.failures.empty() ? Group::idle : Group::loss;
        case Change::gained:
        case Change::runs_now:
            return Group::gain;
        case Change::added:
            return kGroupOfKind[static_cast<size_t>(kind_of(*difference.here))];
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

}  // namespace

std::string format_column(const ColumnRow& row) {
    std::string text(row.words);
    std::erase(text, '*');
    return text;
}

bool is_operator(const CauseOfDifferences& cause) {
    return cause.gap && cause.gap->kind == GapKind::op_unsupported;
}

bool breaks_alike(const CauseOfDifferences& cause) {
    std::set<std::string_view> devices;
    for (const ColumnRow& row : kColumns)
        if (cause.counts[index_of(row.column)] > 0) devices.insert(row.simulated);
    return devices.size() > 1;
}

bool is_to_fix(const CauseOfDifferences& cause) {
    const auto* const words = judgement_of(cause);
    return cause.group == Group::loss && words && words->to_fix;
}

bool asks_for_absent_device(const CauseOfDifferences& cause) { return cause.rule == kNoDeviceRule; }

std::string_view describe_judgement(const CauseOfDifferences& cause) {
    const auto* const words = judgement_of(cause);
    return words ? words->words : std::string_view{};
}

std::string describe_unblocked(const CauseOfDifferences& cause) {
    const std::int64_t least = cause.unblocked_tests, most = least + cause.perhaps_unblocked_tests;
    if (most == 0 && cause.blocked_tests > 0)
        return cause.blocked_tests == 1
                   ? "0 alone: 1 test meets another cause, too"
                   : fmt::format("0 alone: {} tests meet another cause, too", cause.blocked_tests);
    const std::string tests = fmt::format("{} test{}", most, most == 1 ? "" : "s");
    if (most == least) return tests;
    return least == 0 ? "up to " + tests : fmt::format("{} to {}", least, tests);
}

std::string describe_streams(const Difference& difference) {
    if (difference.streams == 0) return {};
    if (difference.failed_streams == 0)
        return fmt::format("does not fail so with any of {} random streams on plain CPU",
                           difference.streams);
    return fmt::format(
        "fails with {} of {} random streams on plain CPU{}", difference.failed_streams,
        difference.streams,
        difference.failed_streams == difference.streams ? ", so random numbers do not decide" : "");
}

std::string describe_input_difference(const InputDifference& input) {
    std::map<std::string, std::vector<std::string_view>> columns;
    for (const ColumnRow& row : kColumns) {
        const std::string& value = input.values[index_of(row.column)];
        if (!value.empty()) columns[value].push_back(row.brief);
    }
    std::vector<std::string> words;
    for (const auto& [value, names] : columns)
        words.push_back(fmt::format("{} on {}", value, fmt::join(names, ", ")));
    return fmt::format("{}: {}", input.name, fmt::join(words, "; "));
}

std::int64_t unloaded_modules(const PortingView& view) {
    std::set<std::string_view> modules;
    for (const UnloadedModule& row : view.unloaded) modules.insert(row.module);
    return static_cast<std::int64_t>(modules.size());
}

std::string describe_unloaded(const PortingView& view) {
    std::vector<std::string> words;
    for (const ColumnRow& row : kColumns) {
        const auto count = std::count_if(
            view.unloaded.begin(), view.unloaded.end(),
            [&](const UnloadedModule& module) { return module.columns[index_of(row.column)]; });
        if (count > 0) words.push_back(fmt::format("{} on {}", count, row.brief));
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string describe_generated(const PortingView& view) {
    std::int64_t most = 0;
    for (const PortingColumn& column : view.columns) most = std::max(most, column.totals.generated);
    if (most == 0) return {};
    return fmt::format(
        "{} used generated models or data: a pass says that the code runs on the "
        "device, not that numbers are the real model's",
        counted(most, "test"));
}

std::string format_columns(const UnloadedModule& module, const PortingView& view) {
    std::vector<std::string_view> columns;
    bool everywhere = true;
    for (const ColumnRow& row : kColumns) {
        if (module.columns[index_of(row.column)])
            columns.push_back(row.brief);
        else
            everywhere = everywhere && !view.at(row.column).run;
    }
    return everywhere ? "every run" : fmt::format("{}", fmt::join(columns, ", "));
}

std::string describe_verdict(const PortingView& view) {
    if (!view.compared) return "nothing to compare";
    // By simulated device: whether a test used it in any of its columns.
    std::map<std::string_view, bool> used;
    std::map<std::string_view, std::string_view> names;
    for (const ColumnRow& row : kColumns) {
        if (!row.shim || !view.at(row.column).run) continue;
        used[row.simulated] |= view.at(row.column).used_accelerator > 0;
        names.emplace(row.simulated, row.brief);
    }
    std::vector<std::string_view> used_devices, unused_devices;
    for (const auto& [device, any] : used)
        (any ? used_devices : unused_devices).push_back(names[device]);
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
    else if (!used_devices.empty())
        parts.push_back(
            fmt::format("nothing to fix was found on {}", fmt::join(used_devices, " or ")));
    if (!unused_devices.empty())
        parts.push_back(fmt::format("no test used {}", fmt::join(unused_devices, " or ")));
    if (const std::int64_t unloaded = unloaded_modules(view); unloaded > 0)
        parts.push_back(
            fmt::format("{} module{} could not be loaded", unloaded, unloaded == 1 ? "" : "s"));
    return fmt::format("{}", fmt::join(parts, "; "));
}

template <class Fill>
size_t Causes::find_or_add(const std::string& key, Fill fill) {
    const auto [at, is_new] = index_.emplace(key, causes_.size());
    if (is_new) fill(causes_.emplace_back());
    return at->second;
}

size_t Causes::cause_by_title(Group group, std::string_view judgement, std::string title,
                              bool trusted, std::string_view advice) {
    return find_or_add(fmt::format("{}\n{}\n{}", name_of(group), judgement, title),
                       [&](CauseOfDifferences& cause) {
                           cause.group = group;
                           cause.judgement = judgement;
                           cause.title = std::move(title);
                           cause.advice = advice;
                           cause.trusted_title = trusted;
                       });
}

std::string Causes::key_of_loss(const FailureFacts& failure) {
    using enum analysis::Grouping;
    const analysis::JudgementRule& rule = analysis::judge(failure.evidence);
    std::string detail;
    if (rule.grouping == by_rule) detail = failure.rule;
    if (rule.grouping == by_function) detail = failure.cause + " " + failure.function;
    if (rule.grouping == by_place)
        detail = failure.gap ? fmt::format("{} {}", name_of(failure.gap->kind), failure.gap->symbol)
                             : fmt::format("{} {} {}", text_of_mistake(failure), failure.function,
                                           fmt::join(failure.refused, " "));
    const auto row = &rule - analysis::judgement_rules().data();
    return fmt::format("{}\n{}\n{}", name_of(Group::loss), row, detail);
}

std::optional<size_t> Causes::find(const FailureFacts& failure) const {
    const auto at = index_.find(key_of_loss(failure));
    return at == index_.end() ? std::nullopt : std::optional(at->second);
}

size_t Causes::cause_of_loss(const FailureFacts& failure) {
    const analysis::JudgementRule& rule = analysis::judge(failure.evidence);
    return find_or_add(key_of_loss(failure), [&](CauseOfDifferences& cause) {
        cause.group = Group::loss;
        cause.judgement = analysis::words_of(rule.judgement).name;
        cause.trusted_title = !rule.title.empty();
        cause.title = rule.title.empty() ? failure.key_line : rule.title;
        if (rule.after_refusal)
            cause.title += fmt::format(", after {} was refused", fmt::join(failure.refused, ", "));
        cause.advice = rule.advice;
        cause.diagnosis = failure.cause;
        cause.error_class = failure.error_class;
        cause.rule = failure.rule;
        cause.signature = failure.signature;
        if (failure.gap) describe_gap(cause, *failure.gap);
    });
}

void Causes::describe_gap(CauseOfDifferences& cause, const GapKey& key) const {
    cause.gap = key;
    const GapFacts facts = analysis::facts_of(key);
    const auto at = gaps_.find(key);
    const GapView* const logged = at == gaps_.end() ? nullptr : &at->second;
    const bool of_simulation =
        cause.judgement == analysis::words_of(analysis::Judgement::simulator).name;
    if (of_simulation && is_accelerator(key.device))
        cause.title = fmt::format("{} is not simulated on {}", key.symbol, key.device);
    else if (!cause.trusted_title)
        cause.title = logged ? logged->description : facts.description;
    if (cause.advice.empty()) cause.advice = logged ? logged->action : facts.action;
    if (!logged) return;
    cause.equivalent = logged->equivalent;
    cause.issue = logged->issue;
}

std::vector<size_t> Causes::causes_of(const UngroupedDifference& difference) {
    const Group group = group_of(difference);
    if (difference.flaky)
        return {cause_by_title(group, kFlaky.name,
                               "tests that break and pass in one and the same run", true,
                               "fix these first, on plain CPU")};
    switch (group) {
        case Group::loss: {
            std::vector<size_t> causes;
            for (const FailureFacts& failure : difference.details.failures) {
                const size_t cause = cause_of_loss(failure);
                if (std::find(causes.begin(), causes.end(), cause) == causes.end())
                    causes.push_back(cause);
            }
            return causes;
        }
        case Group::idle:
            if (difference.here == State::skipped)
                return {cause_by_title(
                    group, kCondition.name,
                    with_reason(name_of(State::skipped), difference.details.key_line), false,
                    "see whether the condition means this device")};
            if (difference.incomplete_column || difference.here)
                return {cause_by_title(group, "",
                                       with_reason("not run", difference.details.key_line), false,
                                       "resume the run, then compare again")};
            return {cause_by_title(group, kCondition.name, "collected on plain CPU alone", true,
                                   "see by what the suite chooses its tests")};
        case Group::gain:
            if (difference.change == Change::added)
                return {cause_by_title(group, "", "collected on a device alone", true)};
            return {
                cause_by_title(group, "",
                               with_reason(fmt::format("{} on plain CPU", name_of(*difference.cpu)),
                                           difference.cpu_key_line),
                               false)};
        case Group::other:
            break;
    }
    return {cause_by_title(
        group, "",
        difference.cpu
            ? fmt::format("{} instead of {}", name_of(*difference.here), name_of(*difference.cpu))
            : fmt::format("{}, and collected on a device alone", name_of(*difference.here)),
        true)};
}

void rank_causes(PortingView& view) {
    std::vector<size_t> order(view.causes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](size_t i) {
        const CauseOfDifferences& cause = view.causes[i];
        // A request for a device that is not there ends a test before anything else can.
        return std::tuple(cause.group, !is_to_fix(cause), !breaks_alike(cause),
                          !asks_for_absent_device(cause), -cause.unblocked_tests, -cause.tests);
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
