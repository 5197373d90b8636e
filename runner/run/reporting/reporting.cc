#include "runner/run/reporting/reporting.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "reports/overview/first_steps.h"
#include "reports/overview/past_runs.h"
#include "runner/archive/gap_log.h"
#include "runner/archive/log_excerpt.h"
#include "runner/archive/packed/run_archive.h"
#include "runner/base/exit_code.h"
#include "runner/base/files.h"
#include "runner/base/secrets.h"
#include "runner/base/text.h"
#include "runner/compare/baseline.h"
#include "runner/display/closing_summary.h"
#include "runner/display/columns.h"
#include "runner/display/output.h"
#include "runner/run/database_wait.h"
#include "runner/run/reporting/github.h"
#include "runner/store/comparable.h"

namespace compat::run {

using display::print;

namespace {

// A failure of the gap log affects neither the run nor its reports.
void note_gap_log(const Error& error) {
    print(stderr, "note: the gap log: {}\n", printable(to_line(error)));
}

// With what the formats for GitHub need, if they are asked for.
Expected<ReportOptions> with_github(ReportOptions asked, const store::Store& store,
                                    const store::RunInfo& info) {
    using reports::Format;
    const auto has = [&](Format format) {
        return std::find(asked.formats.begin(), asked.formats.end(), format) != asked.formats.end();
    };
    if (asked.extra.github)
        for (const Format format : {Format::github_summary, Format::github_annotations})
            if (!has(format)) asked.formats.push_back(format);
    if (!has(Format::github_annotations)) return asked;
    return github_options(store, info).map([&](reports::GithubOptions&& options) {
        asked.options.github = std::move(options);
        asked.options.summary_bytes = github_summary_room();
        return std::move(asked);
    });
}

// The HTML page has copies of at most these sizes: larger files are data rather than code.
constexpr std::uint64_t kCopyBytes = 2 << 20;
constexpr std::uint64_t kCopiesBytes = 8 << 20;

reports::CopiedSources read_copies(const reports::ModelBuilder::Copies& copies) {
    reports::CopiedSources sources{copies.prefix, {}, {}};
    std::uint64_t all = 0;
    for (const fs::path& file : copies.files) {
        std::error_code error;
        const std::string path = file.generic_string();
        const std::uint64_t size = fs::file_size(copies.folder / file, error);
        if (error) {
            sources.left_out.push_back({path, error.message()});
        } else if (size > kCopyBytes) {
            sources.left_out.push_back({path, "larger than 2 MiB"});
        } else if (all + size > kCopiesBytes) {
            sources.left_out.push_back({path, "the page has 8 MiB of sources already"});
        } else if (auto text = read_file(FileBelow(copies.folder, file)); !text) {
            sources.left_out.push_back({path, text.error().message});
        } else {
            all += size;
            sources.files.push_back({path, mask_own_secrets(*text)});
        }
    }
    return sources;
}

// The HTML page has excerpts of logs of this size in all, and lines of at most these columns.
constexpr std::uint64_t kExcerptedBytes = 256 << 20;
constexpr std::size_t kExcerptColumns = 300;
constexpr std::size_t kExcerptLines = 40;

reports::ExcerptReader excerpts_of(const fs::path& run_folder,
                                   const std::vector<std::string>& secrets) {
    return [run_folder, secrets, left = kExcerptedBytes](
               const std::string& log, const std::vector<std::string>& tests) mutable
           -> tl::expected<std::vector<reports::LogExcerptView>, std::string> {
        std::error_code error;
        const std::uint64_t size = fs::file_size(run_folder / log, error);
        if (!error && size > left)
            return tl::unexpected(std::string("only 256 MiB of logs are read for these"));
        const auto read = archive::log_excerpts(run_folder, log, tests, {kExcerptLines, secrets});
        if (!read) return tl::unexpected(printable(read.error().message));
        left -= error ? 0 : size;
        std::vector<reports::LogExcerptView> views;
        for (const archive::LogExcerpt& excerpt : *read) {
            auto& view = views.emplace_back();
            view.first_line = excerpt.first_line;
            view.about_test = excerpt.about_test;
            for (const std::string& line : excerpt.lines)
                view.lines.push_back(display::cut_to(line, kExcerptColumns));
        }
        return views;
    };
}

// report.html has all tests in it and is made in memory: of ten million it would need 3 GiB.
// report.json of as many has 5 GB.
constexpr std::int64_t kMostTestsOfFiles = 1'000'000;

// Whether the run is too large for those two.
bool leave_out_large(const store::Store& store, const std::string& run,
                     std::vector<reports::Format>& formats) {
    const auto extent = store.extent_of(run);
    if (!extent) return false;
    std::int64_t tests = -extent->rowless;
    for (const auto count : extent->states) tests += count;
    return tests > kMostTestsOfFiles && std::erase_if(formats, [](reports::Format format) {
                                            return format == reports::Format::html ||
                                                   format == reports::Format::json;
                                        }) > 0;
}

}  // namespace

analysis::CollectiveLink link_of(const config::Settings& settings) {
    return {std::stod(settings.text(config::Setting::nccl_bandwidth)),
            std::stod(settings.text(config::Setting::nccl_latency))};
}

fs::path report_to_open(const fs::path& run_folder) {
    std::error_code error;
    const fs::path html = run_folder / "report.html";
    return fs::exists(html, error) ? html : run_folder / "report.md";
}

Expected<reports::ReportModel> visit_run(const store::Store& store, const fs::path& results,
                                         const store::StoredRun& run, const fs::path& report_folder,
                                         const RunReceiver& receiver) {
    const std::string& id = run.info.id;
    auto others = TRY(reports::other_runs_of(store, id));
    auto past = TRY(reports::past_runs_of(store, run.info));
    const fs::path folder = results / run.info.folder;
    const bool may_copy = receiver.may_copy && !archive::is_unpacked(results);
    const auto secrets = own_secret_values();
    reports::ModelBuilder builder(
        run, {folder, report_folder, std::move(others), std::move(past), secrets, may_copy});
    reports::ReportModel model;
    // Whatever reads the model ends before it.
    const std::shared_ptr<void> end(nullptr, [&](void*) { receiver.end(); });
    // Two passes over the modules: the model of the whole run comes before the first module.
    const auto read = [&]() -> Expected<void> {
        TRY(store.each_module(id, [&](store::StoredModule module) -> Expected<void> {
            builder.add(std::move(module));
            return {};
        }));
        model = builder.finish();
        if (auto gaps = reports::gaps_of_run(store, id, results, report_folder, may_copy))
            model.gaps = std::move(*gaps);
        else
            note_gap_log(gaps.error());
        model.first_steps = reports::first_steps(model);
        auto changes = TRY(compare::compare_with_past({&store, id}));
        if (changes)
            model.changes = std::make_shared<const reports::CompareView>(std::move(*changes));
        reports::PageSources sources{[&] { return read_copies(builder.copies()); },
                                     excerpts_of(folder, secrets)};
        TRY(receiver.begin(model, std::move(sources)));
        return store
            .each_module(id,
                         [&](store::StoredModule module) -> Expected<void> {
                             receiver.add(builder.view(std::move(module)));
                             return {};
                         })
            .and_then([&] { return receiver.finish(); });
    };
    return store.snapshot(read).map([&] { return std::move(model); });
}

Expected<WrittenReports> write_reports(const store::Store& store, const fs::path& results,
                                       const std::string& id, const ReportOptions& which) {
    const auto run = TRY(store.load_run(id));
    const fs::path out = which.out.empty() ? results / run.info.folder : which.out;
    auto asked = TRY(with_github(which, store, run.info));
    std::optional<reports::ReportWriter> writer;
    std::vector<reports::RenderedFile> files;
    const RunReceiver receiver{
        [&](reports::ReportModel& model, reports::PageSources sources) -> Expected<void> {
            model.issue_texts = asked.extra.issue_text;
            model.collectives.link = asked.extra.link;
            asked.options.sources = std::move(sources);
            writer = TRY(reports::ReportWriter::open(model, out, asked.formats, asked.options,
                                                     asked.extra.files));
            return {};
        },
        [&](reports::ModuleView module) { writer->add(std::move(module)); },
        [&] {
            return writer->finish().map(
                [&](std::vector<reports::RenderedFile> written) { files = std::move(written); });
        },
        [&] { writer.reset(); }};
    auto visited = TRY(visit_run(store, results, run, out, receiver));
    return publish_to_github(files).map([&] {
        return WrittenReports{run.info, std::move(visited), std::move(files)};
    });
}

Expected<void> report_run(store::Store& store, const archive::RunFolder& run,
                          const ExtraReports& extra) {
    auto logged =
        archive::read_for_gap_log(store, run.id).and_then([&](const archive::RunForGapLog& read) {
            return retry_while_busy(store, [&] { return archive::save_gap_log(store, read); });
        });
    const bool interrupted = !logged && logged.error().kind == ErrorKind::interrupted;
    if (!logged && !interrupted) note_gap_log(logged.error());
    ReportOptions which;
    which.extra = extra;
    const bool is_large = leave_out_large(store, run.id, which.formats);
    const auto reported = TRY(write_reports(store, run.results, run.id, which));
    // A run that selected no test because of a wrong name must not hide earlier runs.
    const auto code = static_cast<ExitCode>(reported.model.run.exit_code.value_or(0));
    const bool misnamed = code == ExitCode::usage || code == ExitCode::nothing_selected;
    const bool is_apart = !reported.info.shard.empty();
    // As the name `latest`: a run that gives no verdicts only if there is no other.
    const bool is_helper =
        !reported.info.gives_verdicts() && store.find_run("latest").value_or(run.id) != run.id;
    if (!is_apart && !is_helper && (!misnamed || reported.model.totals.collected > 0))
        archive::point_latest(run);
    if (is_large)
        print(stderr,
              "note: only report.md: the run has more than {} tests; `runner report {} --format "
              "json,html` writes the others\n",
              kMostTestsOfFiles, run.id);
    else if (const auto html = reports::can_write_html(); !html)
        print(stderr, "note: no report.html: {}\n", printable(to_line(html.error())));
    display::print_closing(reported.model, report_to_open(run.folder));
    if (!interrupted) return {};
    logged.error().advice = fmt::format("`runner reparse {} --apply` adds its gaps", run.id);
    return logged;
}

std::function<void(bool kept)> report_interruption(const std::string& run) {
    return [run](bool kept) {
        print(stderr, "runner: interrupted: {}\n",
              kept ? run + " is stored; `runner report` writes its reports"
                   : std::string("nothing was stored"));
    };
}

}  // namespace compat::run
