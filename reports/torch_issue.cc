#include "reports/torch_issue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ranges>
#include <sstream>

#include "reports/issue_text.h"
#include "reports/markdown/text.h"
#include "runner/analysis/changes/environment.h"
#include "runner/analysis/comparison.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;
using Places = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kLinesShown = 6;  // of each result, from the first that differs
constexpr std::size_t kLineShown = 300, kBeforeDifference = 60;  // bytes
constexpr std::size_t kReportedTrace = 8 * 1024;

// Whether only our own programs read it, or it names folders of this machine alone.
bool is_our_variable(const std::string& name) {
    constexpr std::array<std::string_view, 3> kOurs{"COMPAT_", "TORCHDEVICE_", "ACTIVATE_"};
    return name == "PATH" || name == "PYTORCH_ENABLE_MPS_FALLBACK" ||
           std::ranges::any_of(kOurs, [&](auto ours) { return name.starts_with(ours); });
}

// The entries below the suite's root, relative to it.
std::string portable_path(const std::string& path, const fs::path& root) {
    std::vector<std::string> entries;
    for (const auto part : std::views::split(path, ':')) {
        const fs::path inside =
            fs::path(std::string(part.begin(), part.end())).lexically_relative(root);
        if (!inside.empty() && *inside.begin() != "..") entries.push_back(inside.string());
    }
    return fmt::format("{}", fmt::join(entries, ":"));
}

bool is_broken(const CaseView& test) {
    return analysis::kind_of(test.state) == analysis::StateKind::broken;
}

// "failed", and of a failure the text.
std::vector<std::string> result_lines(const CaseView& test) {
    const FailureView* const failure = failure_of(test);
    std::string text(name_of(test.state));
    if (failure != nullptr)
        text += fmt::format(": {}: {}", failure->type, failure->message);
    else if (!test.reason.empty())
        text += ": " + test.reason;
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// The part of a long line that begins shortly before the byte `at`.
std::string part_of_line(const std::string& line, std::size_t at) {
    const std::string_view part =
        at > kLineShown / 2 ? last_bytes(line, line.size() - at + kBeforeDifference) : line;
    return fmt::format("{}{}{}", part.size() < line.size() ? "…" : "",
                       first_bytes(part, kLineShown), part.size() > kLineShown ? "…" : "");
}

std::string differing_lines(const CaseView& older, const CaseView& test) {
    const auto before = result_lines(older), now = result_lines(test);
    const auto at = std::ranges::mismatch(before, now);
    std::string text;
    std::size_t same = 0;  // bytes in which the first lines that differ begin alike
    if (at.in1 != before.end() && at.in2 != now.end())
        same =
            static_cast<std::size_t>(std::ranges::mismatch(*at.in1, *at.in2).in1 - at.in1->begin());
    const auto add = [&](char sign, auto from, auto end) {
        for (std::size_t i = 0; i < kLinesShown && from != end; ++i, ++from)
            text += fmt::format("{} {}\n", sign, part_of_line(*from, i == 0 ? same : 0));
    };
    add('-', at.in1, before.end());
    add('+', at.in2, now.end());
    return text.empty() ? "" : "\n" + fenced("diff", text);
}

// Who must not get this report as it is; empty: the device is a real one.
std::string warning_of(const TestWithTorch& failed, const TestWithTorch& older) {
    const RunView& run = failed.run;
    if (!run.shim && !run.simulated) return {};
    const std::string what =
        run.simulated
            ? fmt::format("The device `{}` was **simulated** on a CPU", *run.simulated)
            : std::string("Requests for devices were **redirected** by the runner's shim");
    const bool on_cpu = failed.test.attribution && failed.test.attribution->cause == "upstream";
    return fmt::format(
        "> [!WARNING]\n> **Not for PyTorch as it is.** {}, with torch {} and {}. {}\n\n", what,
        code(older.run.torch), code(run.torch),
        on_cpu ? fmt::format("The test fails the same on plain CPU, without the shim: report that "
                             "(`runner show {} TEST --issue`).",
                             failed.test.attribution->run)
               : std::string("Report it only if the test fails on the real device or on plain "
                             "CPU, without the shim, too."));
}

std::string steps_of(const TestWithTorch& failed, const TestWithTorch& older) {
    const RunView& run = failed.run;
    if (!failed.test.reproduce) return {};
    const auto release = [](const RunView& of) { return of.torch.substr(0, of.torch.find('+')); };
    std::string steps = fmt::format("pip install torch=={}  # with {}: {}\n", release(run),
                                    release(older.run), name_of(older.test.state));
    if (!run.remote.empty())
        steps += fmt::format("git clone {} suite && cd suite{}\n", shell_quoted(run.remote),
                             run.commit.empty() ? "" : " && git checkout " + run.commit);
    std::string command = run.shim ? failed.test.reproduce->runner : failed.test.reproduce->plain;
    const std::string enter = fmt::format("cd {} && ", shell_quoted(run.root));
    if (command.starts_with(enter)) command.erase(0, enter.size());
    return fmt::format("\nTo reproduce{}:\n\n{}",
                       run.shim ? ", on the simulated or redirected device"
                                : ", in the folder of the suite's source",
                       fenced("sh", steps + command + "\n"));
}

// As torch.utils.collect_env prints them, as far as the run stored them.
std::string versions_of_run(const RunView& run) {
    const Json print = Json::parse(run.fingerprint, nullptr, false);
    const auto word = [&](const char* pointer) {
        const Json::json_pointer at(pointer);
        if (!print.is_object() || !print.contains(at)) return std::string("not known");
        return print[at].is_string() ? print[at].get<std::string>() : print[at].dump();
    };
    std::string text = fmt::format(
        "PyTorch version: {}\nPyTorch git: {}\n\nOS: {} ({})\n\nPython version: {}\nPython "
        "platform: {}-{}\n\nCPU: {}, {} cores\nDevice of the run: {}\n\nVersions of relevant "
        "libraries:\n",
        run.torch, word("/torch/git"), word("/os"), word("/machine"), word("/python"),
        word("/kernel"), word("/machine"), word("/cpu"), word("/cores"),
        run.simulated ? *run.simulated + " (simulated)" : run.device);
    constexpr std::array<std::string_view, 8> kRelevant{"torch",  "numpy", "triton", "nvidia",
                                                        "optree", "onnx",  "mypy",   "scipy"};
    const Json packages = print.is_object() ? print.value("packages", Json::object()) : Json();
    for (const auto& [name, version] : packages.items())
        if (version.is_string() &&
            (name == run.framework || std::ranges::any_of(kRelevant, [&](auto part) {
                 return name.find(part) != std::string::npos;
             })))
            text += fmt::format("[pip3] {}=={}\n", name, version.get<std::string>());
    return text;
}

// Other possible reasons. Settings and names of hosts are private, and mean nothing elsewhere.
std::string differing_packages(const RunView& older, const RunView& run) {
    constexpr std::array<std::string_view, 9> kPublic{
        "torch", "python", "packages", "source", "os", "kernel", "machine", "cpu", "devices"};
    std::string text;
    for (const auto& change : analysis::environment_changes(older.fingerprint, run.fingerprint))
        if (std::ranges::find(kPublic, change.name.substr(0, change.name.find('.'))) !=
            kPublic.end())
            text += fmt::format("- {}: {} → {}\n", code(change.name),
                                code(change.baseline.value_or("none")),
                                code(change.run.value_or("none")));
    return text;
}

// `name` for the folder where it begins a path, or is one.
void replace_folder(std::string& text, const std::string& folder, const std::string& name) {
    if (folder.size() < 2) return;
    const re2::RE2 place(R"(\B)" + re2::RE2::QuoteMeta(folder) + R"(([^\w.-]|$))");
    re2::RE2::GlobalReplace(&text, place, name + R"(\1)");
}

// The longest folders first: an environment may lie in the suite's folder, and that in a home.
std::string without_places(std::string text, Places places) {
    std::ranges::sort(places, std::ranges::greater{},
                      [](const auto& place) { return place.first.size(); });
    for (const auto& [folder, name] : places) replace_folder(text, folder, name);
    static const re2::RE2 pytest(R"(pytest-of-[^/\s'"]+)");
    re2::RE2::GlobalReplace(&text, pytest, "pytest-of-user");
    return with_tilde(std::move(text));
}

std::string head_of(const TestWithTorch& failed, const TestWithTorch& older) {
    const std::string then = is_broken(older.test)
                                 ? fmt::format("otherwise than with {}", code(older.run.torch))
                                 : fmt::format("and not with {}", code(older.run.torch));
    return fmt::format(
        "# {} breaks with torch {}, {}\n\n{}### 🐛 Describe the bug\n\nThe same test with two "
        "versions of torch. The first lines of the results that differ:\n\n| torch | result "
        "|\n|---|---|\n{}\n{}\n",
        code(failed.test.id), code(failed.run.torch), then, warning_of(failed, older),
        row(code(older.run.torch), name_of(older.test.state)),
        row(code(failed.run.torch), name_of(failed.test.state)));
}

}  // namespace

RunInfo portable_info(RunInfo info) {
    for (auto& [name, value] : info.env)
        if (name == "PYTHONPATH") value = portable_path(value, info.root);
    std::erase_if(info.env, [](const auto& each) {
        return is_our_variable(each.first) || (each.first == "PYTHONPATH" && each.second.empty());
    });
    if (!info.python.empty()) info.python = "python";
    return info;
}

bool torch_differs(const CaseView& older, const CaseView& test) {
    if (analysis::kind_of(older.state) == analysis::StateKind::good) return true;
    const FailureView *const before = failure_of(older), *const now = failure_of(test);
    return is_broken(older) && before != nullptr && now != nullptr &&
           before->signature != now->signature;
}

std::string torch_issue(const TestWithTorch& failed, const TestWithTorch& older,
                        const Places& places) {
    std::string text = head_of(failed, older) + differing_lines(older.test, failed.test);
    if (const FailureView* const failure = failure_of(failed.test))
        text += fmt::format("\nWith torch {}:\n\n{}", code(failed.run.torch),
                            fenced("text", own_traceback(*failure), kReportedTrace));
    text += steps_of(failed, older) + "\n### Versions\n\n" +
            fenced("text", versions_of_run(failed.run));
    if (const auto differ = differing_packages(older.run, failed.run); !differ.empty())
        text += "\nBetween the two runs these differ:\n\n" + differ;
    Places all = places;
    for (const TestWithTorch* side : {&failed, &older}) all.emplace_back(side->run.root, "SUITE");
    return without_places(std::move(text), std::move(all));
}

}  // namespace compat::reports
