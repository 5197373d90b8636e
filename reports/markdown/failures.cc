#include "reports/markdown/failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/attribution_parts.h"
#include "reports/markdown/text.h"
#include "runner/base/text.h"

namespace compat::reports {

namespace {

constexpr std::size_t kLongestFailureLine = 200;
constexpr std::size_t kOtherLines = 5;    // further key lines of one entry
constexpr std::size_t kFramesShown = 10;  // the innermost
// The limit of one traceback; the log and report.json have all of it.
constexpr std::size_t kFailureTracebackBytes = 4 * 1024;

std::string suite_frames(const FailureView& failure) {
    std::vector<const FrameView*> shown;
    for (const FrameView& frame : failure.frames)
        if (frame.in_suite) shown.push_back(&frame);
    if (shown.empty()) return {};
    std::string list = "\nFrames of the suite:\n\n";
    if (shown.size() > kFramesShown) {
        list += fmt::format("- {} before these\n", shown.size() - kFramesShown);
        shown.erase(shown.begin(), shown.end() - kFramesShown);
    }
    for (const FrameView* frame : shown)
        list +=
            fmt::format("- {}{}\n",
                        linked_code(frame->line > 0 ? fmt::format("{}:{}", frame->file, frame->line)
                                                    : frame->file,
                                    frame->url),
                        frame->function.empty() ? std::string{} : " in " + code(frame->function));
    return list;
}

// "`dtype_limit`: the device … (high confidence, rule `mps-no-float64`)"
std::string describe_cause(const ClusterView& cluster) {
    std::string words = code(cluster.cause);
    if (!cluster.error_class.empty()) words += ", " + code(cluster.error_class);
    words += fmt::format(": {}", cluster.needs.empty() ? std::string(cause_means(cluster.cause))
                                                       : code(cluster.needs));
    if (!cluster.rule.empty())
        words += fmt::format(" ({} confidence, rule {})", cluster.confidence, code(cluster.rule));
    return words;
}

// The example's details below its key line.
std::string traceback_of(const CaseView& test, const FailureView* failure) {
    std::string text;
    if (failure) {
        const std::string& trace =
            failure->traceback.empty() ? failure->message : failure->traceback;
        if (!trace.empty()) text += fenced("text", trace, kFailureTracebackBytes);
        text += suite_frames(*failure);
        for (const FailureView& also : failure->also)
            text += fmt::format("\nAlso: {}\n", code(also.key_line, kLongestFailureLine));
    }
    if (!test.log_url.empty())
        text += fmt::format("\nLog: {}\n", linked_code(test.log, test.log_url));
    for (const AttemptView& attempt : test.attempts)
        text += fmt::format("\nAttempt {} ({}{}): {} {}\n", attempt.number, name_of(attempt.kind),
                            attempt.forked ? ", forked" : "", name_of(attempt.state),
                            code(attempt.key_line, kLongestFailureLine));
    if (test.diagnosis)
        for (const DiagnosticAttemptView& attempt : test.diagnosis->attempts)
            text += fmt::format(
                "\nDiagnostic attempt {} ({}): {}{}\n", attempt.number, attempt.step,
                name_of(attempt.state),
                attempt.key_line.empty() ? "" : " " + code(attempt.key_line, kLongestFailureLine));
    if (test.attribution)
        text += fmt::format("\nAttribution: {}\n", describe_attribution(*test.attribution));
    return text;
}

std::string command_of(const CaseView& test) {
    if (!test.reproduce) return {};
    return fenced("sh", test.reproduce->runner + "\n" + test.reproduce->plain) + "\n";
}

std::string line_of(const CaseView& test) {
    std::string why;
    if (test.attribution) {
        why = ": " + code(test.attribution->cause);
        if (!test.attribution->as.empty())
            why += fmt::format(" (as {})", code(test.attribution->as));
    }
    return fmt::format("- {} {}{}\n", name_of(test.state), linked_code(test.id, test.url), why);
}

std::string line_of(const CaseView& test, const SubtestView& sub) {
    return fmt::format("- {} {}\n", name_of(sub.state), linked_code(sub.id, test.url));
}

template <class Entry>
Item item_of(std::string text, Entry entry) {
    std::string tests;
    for (const std::string& line : entry.listed) tests += line;
    const auto listed = static_cast<std::int64_t>(entry.listed.size());
    if (entry.tests > listed)
        tests += fmt::format("- and {} more: report.json has all\n", entry.tests - listed);
    std::string detail;
    if (!entry.traceback.empty()) detail += folded("Traceback and log", entry.traceback);
    // One test alone is the example above.
    if (entry.tests > 1) detail += folded(counted(entry.tests, "test"), tests);
    Item item{text + entry.command};
    item.detail = [detail = std::move(detail)] { return detail; };
    return item;
}

}  // namespace

FailureEntries::FailureEntries(const ReportModel& model)
    : model_(model), groups_(failure_groups(model)), entries_(groups_.size()) {
    for (std::size_t i = 0; i < groups_.size(); ++i)
        for (const std::size_t cluster : groups_[i].clusters)
            by_signature_.emplace(model.clusters[cluster].signature, i);
}

void FailureEntries::add_to(Entry& entry, const CaseView& test, const FailureView* failure,
                            bool is_example, std::string line) {
    ++entry.tests;
    if (entry.listed.size() < kTestsOfFailure) entry.listed.push_back(std::move(line));
    if (!is_example || !entry.command.empty() || !entry.traceback.empty()) return;
    entry.command = command_of(test);
    entry.traceback = traceback_of(test, failure);
}

void FailureEntries::add(const CaseView& test) {
    bool has_entry = false;
    // Each row counts once in an entry.
    std::set<std::size_t> seen;
    const auto add_failure = [&](const FailureView& failure, std::string line) {
        const auto at = by_signature_.find(failure.signature);
        if (failure.signature.empty() || at == by_signature_.end()) return;
        has_entry = true;
        if (at->second >= kFailuresWithDetails || !seen.insert(at->second).second) return;
        const FailureGroup& group = groups_[at->second];
        const ClusterView& largest = model_.clusters[group.clusters.front()];
        add_to(entries_[at->second], test, &failure,
               largest.example == test.id && largest.signature == failure.signature,
               std::move(line));
    };
    if (test.failure) add_failure(*test.failure, line_of(test));
    for (const SubtestView& sub : test.subtests)
        if (sub.failure) add_failure(*sub.failure, line_of(test, sub));
    if (has_entry) return;
    Entry& entry = silent_[{name_of(test.state), test.reason}];
    if (entry.tests == 0) entry.example = linked_code(test.id, test.url);
    add_to(entry, test, nullptr, entry.tests == 0, line_of(test));
}

std::string FailureEntries::heading(const FailureGroup& group) const {
    const ClusterView& largest = model_.clusters[group.clusters.front()];
    std::string text = fmt::format(
        "### {}{}: {}\n\n", counted(group.unexpected(), "test"),
        group.expected == 0 ? "" : fmt::format(" (and {} as expected)", group.expected),
        largest.key_line.empty() ? "no message" : code(largest.key_line, kLongestFailureLine));
    if (!largest.cause.empty()) text += fmt::format("Cause: {}\n\n", describe_cause(largest));
    std::map<std::string_view, std::int64_t> others;
    for (const std::size_t i : group.clusters)
        if (const ClusterView& c = model_.clusters[i];
            c.key_line != largest.key_line && c.tests > c.expected)
            others[c.key_line] += c.tests - c.expected;
    std::vector<std::pair<std::string_view, std::int64_t>> sorted(others.begin(), others.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (std::size_t i = 0; i < std::min(sorted.size(), kOtherLines); ++i)
        text += fmt::format("- {} of them: {}\n", sorted[i].second,
                            code(sorted[i].first, kLongestFailureLine));
    if (sorted.size() > kOtherLines)
        text += fmt::format("- and {} messages more\n", sorted.size() - kOtherLines);
    if (!sorted.empty()) text += "\n";
    text += fmt::format("For example {}\n\n", linked_code(largest.example, largest.url));
    if (!largest.diagnosis.empty())
        text += fmt::format("Diagnosis: {}\n\n", code(largest.diagnosis, kLongestFailureLine));
    if (!largest.attribution.empty())
        text += fmt::format("Attribution: {}\n\n", code(largest.attribution));
    return text;
}

std::vector<Item> FailureEntries::items() {
    std::vector<Item> items;
    for (std::size_t i = 0; i < groups_.size(); ++i)
        if (groups_[i].unexpected() > 0)
            items.push_back(item_of(heading(groups_[i]), std::move(entries_[i])));
    for (auto& [key, entry] : silent_) {
        const auto& [state, reason] = key;
        items.push_back(
            item_of(fmt::format("### {} {}{}\n\n", counted(entry.tests, "test"), state,
                                reason.empty() ? "" : ": " + code(reason, kLongestFailureLine)),
                    std::move(entry)));
    }
    return items;
}

}  // namespace compat::reports
