#include "reports/markdown/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "reports/markdown/text.h"
#include "runner/base/text.h"

namespace compat::reports {

using parsers::State;

namespace {

// Tests that make the run fail: they broke, or passed, and that was not expected.
std::int64_t bad_count(const ReportModel& model) {
    std::int64_t sum = 0;
    for (size_t i = 0; i < model.totals.states.size(); ++i)
        if (analysis::is_unexpected(static_cast<State>(i), model.run.framework))
            sum += model.totals.states[i] - model.expectations.expected[i];
        else
            sum += model.expectations.passes_with_entry[i];
    return sum;
}

std::string describe_device(const RunView& run) {
    return run.simulated ? *run.simulated + " (simulated)" : run.device;
}

// "4 tests to look at, 1 module without a result".
std::string describe_attention(const ReportModel& model) {
    std::vector<std::string> parts;
    if (const auto tests = bad_count(model); tests > 0)
        parts.push_back(fmt::format("{} to look at", counted(tests, "test")));
    if (model.modules_without_result > 0)
        parts.push_back(
            fmt::format("{} without a result", counted(model.modules_without_result, "module")));
    if (!model.accounting.closed) parts.emplace_back("not all tests accounted for");
    return parts.empty() ? "nothing needs attention" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string headline(const ReportModel& model) {
    const RunView& run = model.run;
    return fmt::format(
        "# {}: {}, {}\n\nRun {}, started {}, {} after {}; {}, device {}, torch {}.\n",
        code(run.suite), counted(model.totals.collected, "test"), describe_attention(model),
        code(run.id), iso8601(run.started), run.complete ? "complete" : "**not complete**",
        format_duration(std::chrono::duration<double>(run.duration_s)),
        run.imported ? "imported"
        : run.shim   ? "shim on"
                     : "shim off",
        code(describe_device(run)), run.torch.empty() ? "none" : code(run.torch));
}

std::string blind_spots(const ReportModel& model) {
    if (model.blind_spots.empty()) return {};
    std::string text = "\n**What the counts do not say:**\n\n";
    for (const BlindSpot& spot : model.blind_spots)
        text += fmt::format("- {} {}\n", counted(spot.tests, "test"), spot.words);
    return text;
}

std::string unused_device(const ReportModel& model) {
    if (!is_device_unused(model)) return {};
    std::string text = fmt::format(
        "\n**No test used the device {}: these results say nothing about it.** To run the tests on "
        "it:\n\n",
        code(describe_device(model.run)));
    for (const WayToUseTheDevice& way : kWaysToUseTheDevice)
        text += fmt::format("- {}: {}\n", code(way.option), way.words);
    return text;
}

std::string no_verdict(const RunView& run) {
    if (run.seeds > 0)
        return fmt::format(
            "\n**Not a verdict.** Each module ran {} times, each time with another stream of "
            "torch's random numbers (`--seeds`). The states are those of the last time; a flaky "
            "test depends on the numbers.\n",
            run.seeds);
    if (!run.keep_going) return {};
    return fmt::format(
        "\n**Not a verdict.** Where the device {} refuses, this run wrote it down, computed on the "
        "CPU and went on (`--keep-going`): a test that passes here may fail on the device.\n",
        code(describe_device(run)));
}

std::string describe_totals(const ReportModel& model) {
    const Totals& totals = model.totals;
    std::string head = row("modules", "tests");
    std::string rule = "|---:|---:|";
    std::string counts = row(totals.modules, totals.collected);
    std::vector<std::string> summands;
    for (size_t i = 0; i < totals.states.size(); ++i) {
        head += fmt::format(" {} |", parsers::kStateNames[i]);
        rule += "---:|";
        counts += fmt::format(" {} |", totals.states[i]);
        if (totals.states[i] > 0)
            summands.push_back(fmt::format("{} {}", totals.states[i], parsers::kStateNames[i]));
    }
    const std::string closing = model.accounting.closed
                                    ? describe_closed_accounting(model)
                                    : fmt::format(", **not all accounted for: {} mismatches**",
                                                  model.accounting.mismatches.size());
    std::string text = fmt::format(
        "{}\n{}\n{}\n\nAccounting: {} collected = {}{}.\n", head, rule, counts, totals.collected,
        summands.empty() ? "0" : fmt::format("{}", fmt::join(summands, " + ")), closing);
    if (totals.flaky > 0)
        text += fmt::format("\n{} flaky: passed only in a later attempt.\n", totals.flaky);
    return text + fmt::format("\nSource links: {}, of which {} do not resolve.\n",
                              model.links_total, model.links_unresolved);
}

std::string how_it_passed(const ReportModel& model) {
    const Totals& totals = model.totals;
    if (model.run.imported) return "Devices were not recorded: the results were imported.\n";
    if (!model.run.shim)
        return fmt::format("Devices were not recorded: the shim was off.\n{}",
                           totals.generated == 0
                               ? std::string()
                               : fmt::format("\n{} used generated models or data.\n",
                                             counted(totals.generated, "test")));
    return fmt::format(
        "Of {} tests that passed or failed, {} used an accelerator (target: {}).\n\n"
        "| mark | tests | meaning |\n|---|---:|---|\n"
        "| device | {} | created or moved a tensor on the target accelerator |\n"
        "| fallback | {} | some operation went to the CPU |\n"
        "| race | {} | no wait orders accesses of two CUDA streams |\n"
        "| redirected | {} | asked for another device than it got |\n"
        "| untouched | {} | none of these: the result says nothing about the device |\n{}",
        totals.count(State::passed) + totals.count(State::failed), totals.device,
        code(describe_device(model.run)), totals.device, totals.fallback, totals.race,
        totals.redirected, totals.untouched,
        totals.generated == 0
            ? std::string()
            : fmt::format("| generated | {} | used a model or data that the hub had generated |\n",
                          totals.generated));
}

}  // namespace compat::reports
