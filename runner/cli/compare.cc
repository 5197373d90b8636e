// `runner compare`: what changed between two stored runs, by class and cause.
#include "reports/compare/compare.h"

#include <cstdio>
#include <memory>
#include <set>

#include "reports/html/page.h"
#include "reports/markdown/markdown.h"
#include "runner/archive/packed/run_archive.h"
#include "runner/base/files.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/checks.h"
#include "runner/cli/results.h"
#include "runner/compare/baseline.h"
#include "runner/display/output.h"

namespace compat::cli {

using reports::ChangeClass;

namespace {

constexpr std::string_view kBadClasses = "bad";

struct CompareOptions {
    std::vector<std::string> runs;
    std::string baseline_results;  // empty: those of the run
    std::string by;
    std::string format = "text";
    std::string out;  // empty: stdout
    std::size_t tests = 3;
    std::size_t max_bytes = reports::kMarkdownBytes;
    std::vector<std::string> fail_on;
};

// Values of --fail-on.
std::vector<std::string> fail_on_values() {
    std::set<std::string> words{std::string(kBadClasses)};
    for (const auto& row : analysis::kChangeClasses) words.emplace(row.name);
    return {words.begin(), words.end()};
}

std::vector<ChangeClass> classes_of(const std::vector<std::string>& words) {
    std::set<ChangeClass> classes;
    for (const std::string& word : words) {
        if (const auto one = analysis::change_class_of(word)) classes.insert(*one);
        for (std::size_t i = 0; word == kBadClasses && i < analysis::kChangeClasses.size(); ++i)
            if (analysis::kChangeClasses[i].bad) classes.insert(static_cast<ChangeClass>(i));
    }
    return {classes.begin(), classes.end()};
}

compare::Chosen chosen_by(std::string_view word) {
    using enum compare::Chosen;
    return word == "device" ? by_device : word == "job" ? by_job : by_past;
}

std::string rendered(const reports::CompareView& view, const CompareOptions& options) {
    if (options.format == "json") return compare_json(view);
    if (options.format == "html") {
        std::string page;
        compare_html(view, [&](std::string_view bytes) { page += bytes; });
        return page;
    }
    if (options.format == "md") return compare_markdown(view, options.max_bytes);
    return compare_text(view, options.tests);
}

Expected<ExitCode> compare_stored(const CompareOptions& options,
                                  const config::Invocation& invocation) {
    if (!options.by.empty() && !options.baseline_results.empty())
        return fail(ErrorKind::usage, "--by and --baseline-results exclude each other",
                    "name the two runs instead of --by");
    if (options.format == "html") TRY(reports::can_write_html());
    std::vector<std::string> names = options.runs;
    // Each of the two may be in an archive of its own.
    std::string none, &run = names.empty() ? none : names.back();
    const bool baseline_is_apart = names.size() == 2 && archive::is_archive(names.front());
    const bool run_is_apart = !names.empty() && archive::is_archive(run);
    const auto results = TRY(open_existing(invocation, run));
    const compare::RunDatabase runs{results.store, results.folder};
    const auto compare_with = [&](const Results& other) {
        return compare::compare(runs, {other.store, other.folder},
                                {names, chosen_by(options.by), classes_of(options.fail_on)});
    };
    const auto compared = TRY([&]() -> Expected<reports::CompareView> {
        if (!options.baseline_results.empty())
            return cluster::unpacked(fs::absolute(options.baseline_results), invocation)
                .and_then([](const fs::path& folder) { return open_existing(folder); })
                .and_then(compare_with);
        if (baseline_is_apart || run_is_apart)
            return open_existing(invocation, names.size() == 2 ? names.front() : none)
                .and_then(compare_with);
        return compare_with(results);
    }());
    const std::string text = rendered(compared, options);
    if (options.out.empty())
        display::put(stdout, text);
    else if (auto written = write_file(fs::absolute(options.out), text); !written)
        return tl::unexpected(written.error());
    return compared.fails() ? ExitCode::unexpected_results : ExitCode::ok;
}

Action add_compare(CLI::App& app, config::Invocation& invocation) {
    auto options = std::make_shared<CompareOptions>();
    app.add_option("RUN", options->runs, "baseline and run, or run alone [latest]");
    app.add_option("--baseline-results", options->baseline_results,
                   "results folder of the baseline [that of the run]")
        ->type_name("DIR");
    app.add_option("--by", options->by,
                   "device or job: compare the newest run of each, or the named runs, with the "
                   "first")
        ->type_name("WHAT")
        ->check(one_of({"device", "job"}));
    app.add_option("--format", options->format, "text, md, json or html")
        ->type_name("FORMAT")
        ->check(one_of({"text", "md", "json", "html"}))
        ->capture_default_str();
    app.add_option("--out", options->out, "file to write to [stdout]")->type_name("FILE");
    app.add_option("--tests", options->tests, "tests listed for each cause, in text")
        ->type_name("N")
        ->check(in_range(0, 1'000'000'000))
        ->capture_default_str();
    app.add_option("--max-bytes", options->max_bytes, "largest size of the Markdown page")
        ->type_name("N")
        ->check(in_range(1, std::int64_t{1} << 40))
        ->capture_default_str();
    app.add_option("--fail-on", options->fail_on,
                   "exit with 1 if a test is in one of these classes; bad: regressed and "
                   "new_failing")
        ->type_name("CLASS,…")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(one_of(fail_on_values()));
    return exits_with_code([options, &invocation] { return compare_stored(*options, invocation); });
}

}  // namespace

Command compare_command() {
    return {"show what changed between two runs, by class and cause",
            {Setting::results},
            "Without RUN: the latest run and the comparable one before it: of the same\n"
            "series, suite, framework, device and settings.\n"
            "Examples:\n"
            "  runner compare\n"
            "  runner compare einops@latest~1 einops@latest --fail-on bad\n"
            "  runner compare --format md --out changes.md\n"
            "  runner compare --baseline-results ../before/results\n"
            "  runner compare --by device",
            add_compare};
}

}  // namespace compat::cli
