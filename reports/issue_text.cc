#include "reports/issue_text.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <nlohmann/json.hpp>

#include "reports/markdown/text.h"
#include "runner/base/device_kind.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

constexpr std::size_t kIssueTitle = 120, kIssueLine = 300;
constexpr std::size_t kIssueTracebackBytes = 6 * 1024;
constexpr std::size_t kRedirectionsShown = 5;

std::string issue_fact(std::string_view name, const std::string& value) {
    return value.empty() ? std::string{} : fmt::format("- {}: {}\n", name, code(value));
}

std::string versions_of(const RunView& run) {
    const auto fingerprint = nlohmann::json::parse(run.fingerprint, nullptr, false);
    const auto text_of = [&](const char* key) {
        if (!fingerprint.is_object()) return std::string{};
        const auto at = fingerprint.find(key);
        return at != fingerprint.end() && at->is_string() ? at->get<std::string>() : std::string{};
    };
    const std::string device = run.simulated ? *run.simulated + " (simulated)" : run.device;
    const std::string commit =
        run.commit.empty() ? "" : run.commit + (run.dirty ? " (changed since)" : "");
    const std::string fallback =
        run.imported || !is_accelerator(device) ? "" : (run.fallback ? "on" : "off");
    return issue_fact("device", device) + issue_fact("fallback to the CPU", fallback) +
           issue_fact("torch", run.torch) + issue_fact("Python", text_of("python")) +
           issue_fact("OS", text_of("os")) + issue_fact("machine", text_of("machine")) +
           issue_fact("suite", run.suite) + issue_fact("commit", commit) +
           issue_fact("shim", run.imported ? "" : (run.shim ? "on" : "off"));
}

// Results of other ways to run the test; empty: it ran in this way alone.
std::string other_ways_of_test(const CaseView& test) {
    std::string text;
    if (test.attribution && !test.attribution->words.empty())
        text += fmt::format("- It {} (cause: {})\n", prose(test.attribution->words),
                            code(test.attribution->cause));
    if (test.diagnosis && !test.diagnosis->words.empty())
        text += fmt::format("- When it was run again, it {}\n", prose(test.diagnosis->words));
    return text;
}

std::string devices_in_test(const CaseView& test) {
    std::string text;
    const std::size_t shown = std::min(test.redirections.size(), kRedirectionsShown);
    for (std::size_t i = 0; i < shown; ++i) {
        const RedirectionView& r = test.redirections[i];
        text += fmt::format(
            "- {} of {}: {} requested, got {}{}\n", r.kind, code(r.op),
            code(r.from.empty() ? "no device" : r.from), code(r.to.empty() ? "none" : r.to),
            r.file.empty() ? ""
                           : " at " + linked_code(fmt::format("{}:{}", r.file, r.line),
                                                  r.url.starts_with("http") ? r.url : ""));
    }
    return text;
}

}  // namespace

std::string with_tilde(std::string text) {
    static const re2::RE2 home(
        R"((^|[\s'"=:(,\[`])(?:/home/[^/\s'"]+|/Users/[^/\s'"]+|/root)(/|$))");
    re2::RE2::GlobalReplace(&text, home, R"(\1~\2)");
    return text;
}

std::string_view own_traceback(const FailureView& failure) {
    constexpr std::string_view kPythonFrame = "  File \"";
    const std::string_view traceback =
        failure.traceback.empty() ? failure.message : failure.traceback;
    for (const FrameView& frame : failure.frames) {
        if (!frame.in_suite) continue;
        const std::string place = fmt::format("{}\", line {},", frame.file, frame.line);
        const std::size_t at = traceback.find(place);
        if (at == std::string_view::npos) return traceback;
        const std::size_t line = traceback.rfind('\n', at);
        const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
        return traceback.substr(begin).starts_with(kPythonFrame) ? traceback.substr(begin)
                                                                 : traceback;
    }
    return traceback;
}

std::optional<std::string> issue_text(const RunView& run, const CaseView& test) {
    if (!needs_attention(test.state)) return std::nullopt;
    const FailureView* const failure = failure_of(test);
    const std::string key_line = failure ? failure->key_line : test.reason;
    // Links into a folder of this machine lead nowhere from an issue.
    const std::string url = test.url.starts_with("http") ? test.url : "";
    std::string text = fmt::format("# {}{}\n\n{} **{}**{}.\n", code(test.id),
                                   key_line.empty() ? "" : ": " + code(key_line, kIssueTitle),
                                   linked_code(test.id, url), name_of(test.state),
                                   test.reason.empty() ? "" : ": " + code(test.reason, kIssueLine));
    if (failure) {
        if (!failure->cause.empty())
            text += fmt::format("\nCause, by its text: {}: {} ({} confidence).\n",
                                code(failure->cause), cause_means(failure->cause),
                                failure->confidence.empty() ? "no" : failure->confidence);
        if (const auto trace = own_traceback(*failure); !trace.empty())
            text += "\n## Traceback\n\n" + fenced("text", trace, kIssueTracebackBytes);
        std::string frames;
        for (const FrameView& frame : failure->frames)
            if (frame.in_suite && frame.url.starts_with("http"))
                frames += fmt::format(
                    "- {}\n", linked_code(fmt::format("{}:{}", frame.file, frame.line), frame.url));
        if (!frames.empty()) text += "\n" + frames;
    }
    if (test.reproduce)
        text += "\n## To reproduce\n\n" + fenced("sh", test.reproduce->plain) +
                "\nWith the runner:\n\n" + fenced("sh", test.reproduce->runner);
    if (const std::string difference = other_ways_of_test(test); !difference.empty())
        text += "\n## Beside other ways to run it\n\n" + difference;
    if (const std::string redirections = devices_in_test(test); !redirections.empty())
        text += "\n## Devices in this test\n\n" + redirections;
    text += "\n## Environment\n\n" + versions_of(run);
    return with_tilde(std::move(text));
}

}  // namespace compat::reports
