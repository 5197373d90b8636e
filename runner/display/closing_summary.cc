#include "runner/display/closing_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "reports/overview/blind_spots.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/columns.h"
#include "runner/display/display.h"
#include "runner/display/output.h"

namespace compat::display {

namespace {

// The runner writes a .complete file beside its environments (prepare/cache.h).
bool made_by_runner(const fs::path& python) {
    std::error_code error;
    return fs::exists(python.parent_path().parent_path().string() + ".complete", error);
}

void print_load_failures(const reports::ReportModel& model) {
    constexpr size_t kShown = 5;
    const auto& all = model.load_failures;
    for (size_t i = 0; i < std::min(all.size(), kShown); ++i)
        print("not loaded: {}: {}\n", counted(all[i].modules, "module"),
              cut_to(printable(all[i].key_line), Display::kLineColumns));
    if (all.size() > kShown)
        print("not loaded: {} for other causes; see the report\n",
              counted(std::accumulate(all.begin() + kShown, all.end(), 0L,
                                      [](long sum, const auto& f) { return sum + f.modules; }),
                      "module"));
    const bool lacks_package = std::any_of(all.begin(), all.end(), [](const auto& failure) {
        return failure.type == "ModuleNotFoundError";
    });
    if (!lacks_package || model.run.imported) return;
    if (made_by_runner(model.run.python))
        print(
            "the runner made this Python environment, and a package is missing in it: add the "
            "package to a requirements file that suite.json names (\"requirements\"), or use your "
            "own environment with --python DIR/bin/python\n");
    else
        print("a package is missing in your Python environment: {} -m pip install PACKAGE\n",
              model.run.python);
}

}  // namespace

namespace {

// "diagnosis: 3 passes with fallback on, 1 not tried"; most tests first. Nothing if there are none.
// `of`: the tests that may have one.
void print_counts(std::string_view what, const std::map<std::string, std::int64_t>& counts,
                  std::int64_t of) {
    std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string words;
    for (const auto& [name, count] : sorted) {
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, name);
        of -= count;
    }
    if (of > 0) words += fmt::format(", {} without", of);
    if (!sorted.empty()) print("{}: {}\n", what, words);
}

// Only tests that passed or failed show whether they used a device.
std::string device_sentence(const reports::ReportModel& model) {
    const auto& run = model.run;
    const auto& totals = model.totals;
    if (!run.shim)
        return fmt::format("not recorded ({})", run.imported ? "imported results" : "shim off");
    const std::string device =
        printable(run.simulated ? *run.simulated + ", simulated" : run.device);
    const std::string used =
        totals.device == 0
            ? std::string("no test used an accelerator")
            : fmt::format("{} used an accelerator ({})", counted(totals.device, "test"), device);
    const std::string redirected =
        totals.redirected == 0 ? "" : fmt::format("; {} redirected", totals.redirected);
    const std::string races =
        totals.race == 0 ? "" : fmt::format("; {} with a race", counted(totals.race, "test"));
    return fmt::format("{}{}{}; {} of {} untouched", used, races, redirected, totals.untouched,
                       totals.count(parsers::State::passed) + totals.count(parsers::State::failed));
}

// "69 passed + 1 failed"
std::string sum_of(const std::array<long, parsers::kStateNames.size()>& counts) {
    if (std::all_of(counts.begin(), counts.end(), [](long count) { return count == 0; }))
        return "0";
    std::string sum = format_counts(counts);
    for (size_t at = 0; (at = sum.find(", ", at)) != std::string::npos;) sum.replace(at, 2, " + ");
    return sum;
}

std::string describe_accounting(const reports::ReportModel& model) {
    if (const size_t mismatches = model.accounting.mismatches.size(); !model.accounting.closed)
        return fmt::format("; NOT all accounted for, {} mismatch{}:", mismatches,
                           mismatches == 1 ? "" : "es");
    return reports::describe_closed_accounting(model);
}

void print_expectations(const reports::ExpectationsView& view) {
    constexpr size_t kShown = 10;
    if (view.entries == 0) return;
    print("expectations: {} ({})\n", reports::describe_expectations(view), printable(view.file));
    for (size_t i = 0; i < std::min(view.notes.size(), kShown); ++i)
        print("    {}: {}\n", printable(view.notes[i].test), reports::describe_note(view.notes[i]));
    if (view.notes.size() > kShown)
        print("    {} more; see the report\n", view.notes.size() - kShown);
}

// Refusals in a run that keeps going.
std::int64_t refusals_of(const reports::ReportModel& model) {
    std::int64_t count = 0;
    for (const auto& site : model.redirections)
        if (!site.message.empty()) count += site.count;
    return count;
}

// The counts of the run, and whether they add up.
void print_totals(const reports::ReportModel& model) {
    const auto& totals = model.totals;
    std::array<long, parsers::kStateNames.size()> counts{};
    std::copy(totals.states.begin(), totals.states.end(), counts.begin());
    const auto not_loaded = std::accumulate(
        model.load_failures.begin(), model.load_failures.end(), std::int64_t{0},
        [](std::int64_t count, const auto& failure) { return count + failure.modules; });
    // A module that could not be loaded has one pseudo-case and no test.
    const bool no_test = not_loaded > 0 && not_loaded == totals.collected;
    print("\n{}: {} ({})\n", printable(model.run.suite),
          no_test
              ? fmt::format("{}{} could not be loaded, no test was collected",
                            not_loaded < totals.modules ? fmt::format("{} of ", not_loaded) : "",
                            counted(std::max(not_loaded, totals.modules), "module"))
              : fmt::format("{} in {}: {}", counted(totals.collected, "test"),
                            counted(totals.modules, "module"),
                            format_counts(counts, model.modules_without_result > 0 ? "no result"
                                                                                   : "no tests")),
          format_duration(std::chrono::duration<double>(model.run.duration_s)));
    print_load_failures(model);
    if (!no_test || !model.accounting.closed)
        print("accounting: {} collected = {}{}\n", totals.collected, sum_of(counts),
              describe_accounting(model));
    for (const auto& mismatch : model.accounting.mismatches)
        print("    {}{}{}\n", printable(mismatch.module), mismatch.module.empty() ? "" : ": ",
              printable(mismatch.message));
}

void print_unused_device(const reports::RunView& run) {
    print(
        "\nNO TEST USED THE SIMULATED DEVICE {}: these results say nothing about it.\n"
        "To run the tests on it:\n",
        *run.simulated);
    for (const auto& way : reports::kWaysToUseTheDevice)
        print("    {:<27} {}\n", way.option, way.words);
    print("\n");
}

// "a, b and 3 more"
std::string first_names(const std::vector<HubName>& names, std::int64_t all) {
    constexpr std::size_t kShown = 3;
    std::string words;
    for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
        words += (i > 0 ? ", " : "") + printable(names[i].name);
    const auto shown = static_cast<std::int64_t>(std::min(names.size(), kShown));
    return all > shown ? fmt::format("{} and {} more", words, all - shown) : words;
}

void print_hub(const reports::RunView& run) {
    constexpr std::size_t kShown = 3;
    if (!run.hub_use) return;
    const HubUse& use = *run.hub_use;
    print("hub ({}): {}, {} of them generated, {} missing{}\n", run.hub,
          counted(use.served, "name"), use.generated, use.missing,
          use.bytes_fetched > 0
              ? fmt::format("; {} fetched",
                            format_size(static_cast<std::uint64_t>(use.bytes_fetched)))
              : "");
    if (use.missing > 0)
        print("    missing: {}; {}\n", first_names(use.missing_names, use.missing),
              run.hub == "replay"
                  ? "`--hub record` with a network adds them, `--hub generate` makes some up"
                  : "`runner hub explain NAME` says why");
    for (std::size_t i = 0; i < std::min(use.problems.size(), kShown); ++i)
        print("    {}: {}\n", printable(use.problems[i].name), printable(use.problems[i].why));
}

// Why the run's states are no verdicts, if they are none.
void print_missing_verdict(const reports::ReportModel& model) {
    const auto refuses = [](const auto& site) { return !site.message.empty(); };
    if (model.run.keep_going)
        print("no verdict: {} at {}, each computed on the CPU; {}\n",
              counted(refusals_of(model), "refusal"),
              counted(std::count_if(model.redirections.begin(), model.redirections.end(), refuses),
                      "place"),
              "a test that passes here may fail on the device");
    if (model.run.seeds > 0)
        print(
            "no verdict: each module ran {}, each time with other random numbers of torch; the "
            "states are the last one's\n",
            counted(model.run.seeds, "time"));
}

void print_causes(const reports::ReportModel& model) {
    std::int64_t broken = 0;
    for (std::size_t state = 0; state < model.totals.states.size(); ++state)
        if (analysis::needs_attention(static_cast<parsers::State>(state)))
            broken += model.totals.states[state];
    print_counts("diagnosis", model.diagnoses, broken);
    print_counts("attribution", model.attributions, broken);
}

}  // namespace

void print_closing(const reports::ReportModel& model, const fs::path& report) {
    print_totals(model);
    print("devices: {}\n", device_sentence(model));
    print_hub(model.run);
    print_expectations(model.expectations);
    if (const std::string words = reports::format_blind_spots(model.blind_spots); !words.empty())
        print("the counts do not say: {}\n", words);
    if (is_device_unused(model)) print_unused_device(model.run);
    print_missing_verdict(model);
    print_causes(model);
    if (model.totals.flaky > 0)
        print("flaky: {} passed only in a later attempt\n", counted(model.totals.flaky, "test"));
    if (model.totals.collected == 0 && model.run.complete && model.modules_without_result == 0)
        print("no test was selected\n");
    print("report: {}\n", report.string());
}

void print_resume_hint(const std::string& run, const fs::path& results) {
    std::error_code error;
    const bool usual = fs::equivalent(results, fs::current_path() / "results", error);
    print("continue with: runner resume {}{}\n", run,
          usual ? "" : " --results " + shell_quoted(results.string()));
}

}  // namespace compat::display
