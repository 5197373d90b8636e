#include "reports/porting/facts.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "parsers/diagnosis/diagnose.h"
#include "parsers/diagnosis/place.h"
#include "parsers/diagnosis/signature.h"
#include "parsers/diagnosis/traceback.h"
#include "runner/analysis/comparison.h"
#include "runner/analysis/gaps.h"

namespace compat::reports {

using parsers::State;

namespace {

// A test may break by the same thing in several places: it counts once.
void add_once(std::vector<FailureFacts>& list, FailureFacts failure) {
    const auto equal = [&](const FailureFacts& known) {
        return known.gap == failure.gap && known.rule == failure.rule &&
               (failure.gap ||
                (known.signature == failure.signature && known.place == failure.place));
    };
    if (std::none_of(list.begin(), list.end(), equal)) list.push_back(std::move(failure));
}

const FrameView* innermost_in_suite(const FailureView& failure) {
    const auto frame = std::find_if(failure.frames.rbegin(), failure.frames.rend(),
                                    [](const FrameView& f) { return f.in_suite; });
    return frame == failure.frames.rend() ? nullptr : &*frame;
}

std::string format_place(const FrameView& frame) {
    return fmt::format("{}:{}", frame.file, frame.line);
}

std::string format_function(const std::string& file, const std::string& function) {
    return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), function);
}

// The function in which the test broke. For a child process that broke, it is the child's: the test
// saw only that the child ended.
std::string function_of(const FailureView& failure) {
    const auto inner = parsers::embedded_traceback(failure.message);
    if (inner &&
        (inner->type + ": " + inner->message).find(failure.key_line) != std::string::npos) {
        const auto frame = std::find_if(inner->frames.rbegin(), inner->frames.rend(), [](auto& f) {
            return parsers::place_of(f.file).owner == parsers::Owner::suite;
        });
        if (frame != inner->frames.rend()) return format_function(frame->file, frame->function);
    }
    const auto* frame = innermost_in_suite(failure);
    return frame ? format_function(frame->file, frame->function) : std::string();
}

// Each gap that the text names is one failure's facts.
void add_with_gaps(std::vector<FailureFacts>& list, FailureFacts facts,
                   const parsers::Failure& failure, const RunView& run) {
    const std::string device = run.simulated.value_or(run.device);
    const auto gaps = analysis::gaps_in(failure, {device, run.simulated.has_value()});
    for (const GapHit& hit : gaps) {
        facts.gap = hit.key;
        facts.evidence.gap = hit.key.kind;
        facts.evidence.device = hit.key.device;
        add_once(list, facts);
    }
    if (gaps.empty()) add_once(list, std::move(facts));
}

// An assertion about a process repeats the error that ended it.
std::string error_of_process(const FailureView& failure) {
    if (!failure.key_line.ends_with(parsers::kTracebackHeader) ||
        !parsers::reports_exit(failure.message))
        return failure.key_line;
    const auto inner = parsers::embedded_traceback(failure.message);
    return inner ? inner->key_line() : failure.key_line;
}

// "assert False" says nothing: what pytest says beside it does, or else where it stands.
std::string telling_line(const FailureView& failure, const FailureFacts& facts) {
    static const RE2 silent(
        R"((?:[\w.]*(?:Error|Exception|Failed|Failure)(?:: )?)?)"
        R"((?:assert (?:not )?(?:False|True|None)|(?:False|True) is not (?:false|true))?\s*)",
        RE2::Latin1);
    static const RE2 beside(R"(\+ +(where|and) (.+))", RE2::Latin1);
    static const RE2 next(R"(:[ \t]*\n+\s*(\S[^\n]*))", RE2::Latin1);
    std::string word, text;
    if (RE2::FullMatch(failure.key_line, silent)) {
        if (RE2::PartialMatch(failure.message, beside, &word, &text))
            return fmt::format("{}, {} {}", failure.key_line, word, text);
        if (!facts.function.empty()) return "an assertion fails in " + facts.function;
    }
    if (failure.key_line.ends_with(':') && RE2::PartialMatch(failure.message, next, &text))
        return fmt::format("{} {}", failure.key_line, text);
    return failure.key_line;
}

void add_failure(std::vector<FailureFacts>& list, const FailureView& view, const RunView& run) {
    FailureFacts facts;
    facts.evidence = {parsers::cause_of(view.cause).value_or(parsers::Cause::unknown), view.rule,
                      std::nullopt, run.simulated.value_or(run.device)};
    facts.type = view.type;
    facts.cause = view.cause;
    facts.error_class = view.error_class;
    facts.rule = view.rule;
    facts.without_generated = parsers::Rules::shipped().cause_without_generated(view.rule);
    facts.signature = view.signature;
    facts.key_line = view.key_line;
    if (const auto* frame = innermost_in_suite(view)) {
        facts.place = format_place(*frame);
        facts.place_url = frame->url;
    }
    FailureView told = view;
    told.key_line = error_of_process(view);
    facts.function = function_of(told);
    facts.key_line = telling_line(told, facts);
    parsers::Failure failure;
    failure.type = view.type;
    failure.message = view.message;
    failure.diagnosis = {.cause = facts.evidence.cause, .rule = facts.rule};
    add_with_gaps(list, std::move(facts), failure, run);
}

// For a test that broke and has no failure, as after a crash.
FailureFacts facts_of_state(const CaseView& test) {
    FailureFacts facts;
    if (test.state == State::crashed) facts.evidence.cause = parsers::Cause::crash;
    if (test.state == State::timed_out) facts.evidence.cause = parsers::Cause::timeout;
    facts.cause = name_of(facts.evidence.cause);
    facts.signature = facts.key_line = test.reason;
    return facts;
}

}  // namespace

std::string text_of_mistake(const FailureFacts& failure) {
    static const RE2 device(R"((?i)\b(cuda|mps)(:(\d+|#))?\b)", RE2::Latin1);
    std::string text = parsers::masked(failure.key_line);
    RE2::GlobalReplace(&text, device, "device");
    return text;
}

bool is_same_obstacle(const FailureFacts& a, const FailureFacts& b) {
    if (a.gap || b.gap) return a.gap == b.gap;
    return text_of_mistake(a) == text_of_mistake(b);
}

bool may_be_random(const FailureFacts& failure) {
    return analysis::judge(failure.evidence).may_be_random && !failure.gap;
}

bool breaks_in_one_way(const FailureFacts& a, const FailureFacts& b) {
    return a.type == b.type &&
           (a.signature == b.signature || (!a.place.empty() && a.place == b.place));
}

bool breaks_alike(const std::vector<FailureFacts>& a, const std::vector<FailureFacts>& b) {
    return !a.empty() && std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same_obstacle);
}

FailureFacts facts_of_refusal(const RefusalView& refusal, const RunView& run) {
    constexpr std::string_view kAfterType = ": ";
    parsers::Failure failure;
    const size_t colon = refusal.message.find(kAfterType);
    failure.type = refusal.message.substr(0, colon);
    failure.message = refusal.message.substr(colon + kAfterType.size());
    const parsers::Diagnosis why = parsers::Rules::shipped().diagnose(failure, State::errored);
    FailureFacts facts;
    facts.evidence = {why.cause, why.rule, std::nullopt, run.simulated.value_or(run.device)};
    facts.cause = name_of(why.cause);
    facts.rule = why.rule;
    facts.key_line = why.key_line;
    facts.place = refusal.place;
    facts.place_url = refusal.url;
    std::vector<FailureFacts> list;
    add_with_gaps(list, std::move(facts), failure, run);
    return list.front();
}

ResultDetails details_of(const CaseView& test, const RunView& run) {
    ResultDetails details;
    details.id = test.id;
    details.key_line = test.reason;
    details.redirected_at = test.redirected_at;
    details.redirected_url = test.redirected_url;
    if (analysis::kind_of(test.state) != analysis::StateKind::broken) return details;
    if (test.reproduce) details.reproduce = test.reproduce->runner;
    const auto add = [&](const FailureView& failure, const auto& self) -> void {
        if (details.failures.empty()) {
            details.key_line = failure.key_line;
            if (const auto* frame = innermost_in_suite(failure)) {
                details.place = format_place(*frame);
                details.place_url = frame->url;
            }
        }
        add_failure(details.failures, failure, run);
        for (const FailureView& also : failure.also) self(also, self);
    };
    if (test.failure) add(*test.failure, add);
    for (const SubtestView& sub : test.subtests)
        if (sub.failure && needs_attention(sub.state)) add(*sub.failure, add);
    if (details.failures.empty()) details.failures.push_back(facts_of_state(test));
    return details;
}

bool needs_a_device(const ResultDetails& details) {
    return !details.failures.empty() &&
           std::all_of(details.failures.begin(), details.failures.end(),
                       [](const FailureFacts& failure) { return failure.rule == kNoDeviceRule; });
}

bool is_refused_by_device(const ResultDetails& details, const RunView& run) {
    return std::any_of(
        details.failures.begin(), details.failures.end(), [&](const FailureFacts& failure) {
            return failure.gap && run.simulated && failure.gap->device == *run.simulated;
        });
}

}  // namespace compat::reports
