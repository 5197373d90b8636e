#include "runner/run/import_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "runner/analysis/verdict.h"
#include "runner/archive/imported/import_jobs.h"
#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "runner/archive/temp_output.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/compare/baseline.h"
#include "runner/display/output.h"
#include "runner/run/fingerprint.h"
#include "runner/run/reporting/reporting.h"
#include "runner/site/series.h"

namespace compat::run {

using config::Setting;
using display::print;

namespace {

// Copies of files in the folders of jobs, by the file.
using Copies = std::map<fs::path, fs::path>;

// The copies are read, so that they hold exactly what is stored. Files of our own, unpacked ones in
// `room` and copies of another job, are linked instead of copied.
Expected<void> copy_into(const fs::path& folder, const fs::path& room, Copies& copies,
                         std::vector<archive::ImportedFile>& files) {
    TRY(make_directories(folder / archive::kImportedFolder));
    std::map<fs::path, fs::path> here;
    for (size_t i = 0; i < files.size(); ++i) {
        archive::ImportedFile& file = files[i];
        if (!file.unread.empty()) continue;
        const fs::path source = file.file;
        fs::path& copy = here[source];
        if (copy.empty()) {
            copy = fs::path(archive::kImportedFolder) /
                   fmt::format("{}-{}", i + 1, escaped_component(file.name));
            const auto known = copies.find(source);
            const bool is_ours = known != copies.end() || source.parent_path() == room;
            std::error_code error = std::make_error_code(std::errc::not_supported);
            if (is_ours)
                fs::create_hard_link(known != copies.end() ? known->second : source, folder / copy,
                                     error);
            if (error) TRY(copy_file(FileBelow::followed(source), folder / copy));
            copies.emplace(source, folder / copy);
        }
        file.file = folder / copy;
        file.log = copy;
    }
    return {};
}

// The first file that could not be read, and why.
std::string first_unread(const std::vector<archive::ImportedFile>& files) {
    for (const auto& file : files)
        if (!file.unread.empty()) return file.name + ": " + file.unread;
    return {};
}

// A folder may hold any number of files that are no results.
void print_notes(const std::vector<std::string>& notes) {
    constexpr size_t kMost = 20;
    for (size_t i = 0; i < notes.size() && i < kMost; ++i) print("note: {}\n", printable(notes[i]));
    if (notes.size() > kMost) print("note: {} more like these\n", notes.size() - kMost);
}

store::RunInfo run_info(const ImportRequest& request, const config::Invocation& invocation,
                        const config::Settings& settings, const archive::RunFolder& run,
                        const std::string& series, const archive::ImportJob& job) {
    store::RunInfo info;
    info.id = run.id;
    info.suite = request.suite;
    info.series = series;
    info.started = run.started;
    info.shim = false;
    info.device = request.device;
    info.fallback = false;
    info.torch = request.torch;
    info.root = settings.text(Setting::root).empty()
                    ? std::string()
                    : fs::absolute(settings.text(Setting::root)).string();
    info.argv = masked(invocation.argv);
    info.column = job.name;
    info.fingerprint = archive::describe_files(job.files);
    info.folder = "runs/" + run.id;
    return info;
}

// Completes a run by what its files hold.
void complete(store::StoredRun& run, const archive::ImportSums& sums) {
    analysis::RunFacts facts;
    facts.collected = static_cast<long>(sums.collected);
    facts.unaccounted = !sums.mismatches.empty();
    facts.unexpected = !sums.unexpected.empty();
    run.info.framework = fmt::format("{}", fmt::join(sums.frameworks, "+"));
    run.end->finished = SystemClock().wall();
    run.end->duration_s = run.duration_s = sums.duration_s;
    run.end->exit_code = static_cast<int>(analysis::exit_code(facts));
    run.end->accounting_closed = sums.mismatches.empty();
    run.end->mismatches = sums.mismatches;
}

// Reads the files once, in the transaction that stores them.
Expected<archive::ImportSums> store_files(store::Store& store, store::StoredRun& run,
                                          const fs::path& folder,
                                          const std::vector<archive::ImportedFile>& files,
                                          archive::TempOutput& output,
                                          const std::function<void()>& on_stored) {
    archive::ImportSums sums;
    const auto added = store.add_run(run, [&](const store::ModuleVisitor& see) -> Expected<void> {
        auto read = archive::read_imported_modules(files, run.info.started, see);
        if (!read) return tl::unexpected(read.error());
        sums = std::move(*read);
        if (sums.frameworks.empty())
            return fail(ErrorKind::usage, "no results in these files",
                        sums.notes.empty() ? first_unread(files) : sums.notes.front());
        complete(run, sums);
        return archive::record_run(folder, run.info)
            .and_then([&] { return archive::record_end(folder, *run.end); })
            .map([&] { output.hold(); });
    });
    if (!added) return tl::unexpected(added.error());
    on_stored();
    output.keep(folder);
    return sums;
}

// An import while it stores one job after the other.
class Import {
  public:
    Import(const ImportRequest& request, const config::Invocation& invocation,
           const config::Settings& settings)
        : request_(request), invocation_(invocation), settings_(settings) {
        const std::string& name = settings.text(Setting::name);
        series_ = name.empty() ? request.suite : name;
        results_ = fs::absolute(settings.text(Setting::results));
        started_ = SystemClock().wall();
    }

    Expected<ExitCode> run() {
        // Before stdin is read, which cannot be repeated. A new folder is made only once there are
        // results.
        std::error_code error;
        if (fs::exists(results_ / "runner.db", error) || fs::exists(results_ / "runs", error))
            TRY(open());
        const fs::path incoming = new_run(series_).folder;
        archive::TempOutput made(incoming, [this](bool) { report_interrupted(); });
        const fs::path room = incoming / "incoming";
        auto jobs = TRY(archive::sort_into_jobs(TRY(archive::find_import_files(
            {request_.files, request_.dialect, request_.stdin_name, results_}, room, notes_))));
        if (!store_) TRY(open());
        std::vector<ExitCode> codes;
        std::vector<std::string> runs;
        jobs_ = jobs.size();
        for (archive::ImportJob& job : jobs) {
            const StoredJob stored = TRY(store_job(job, room, made));
            codes.push_back(stored.code);
            runs.push_back(stored.run);
        }
        if (runs.size() > 1) TRY(compare_jobs(runs));
        return worst(codes);
    }

  private:
    struct StoredJob {
        std::string run;
        ExitCode code;
    };

    Expected<void> open() {
        store_.emplace(TRY(archive::open_results(results_)));
        return {};
    }

    [[nodiscard]] archive::RunFolder new_run(const std::string& series) const {
        archive::RunFolder run;
        run.results = results_;
        run.started = started_;
        run.id = make_run_id(series, started_, std::random_device{}());
        run.folder = results_ / "runs" / run.id;
        return run;
    }

    // Between two jobs, or in one: whole runs stay.
    void report_interrupted() const {
        print(stderr, "runner: interrupted: {}\n",
              stored_.empty()
                  ? "nothing was stored"
                  : fmt::format("{} of {} runs stored: {}; `runner report` writes their reports",
                                stored_.size(), jobs_, fmt::join(stored_, ", ")));
    }

    // A job has a series of its own.
    Expected<StoredJob> store_job(archive::ImportJob& job, const fs::path& room,
                                  archive::TempOutput& made) {
        const std::string series = job.name.empty() ? series_ : series_ + "-" + job.name;
        const archive::RunFolder run = new_run(series);
        made.add(run.folder);
        TRY(copy_into(run.folder, room, copies_, job.files));
        store::StoredRun stored{
            run_info(request_, invocation_, settings_, run, series, job),
            store::RunEnd{.finished = run.started, .mismatches = {}, .not_run_reason = {}}, 0};
        const auto sums = store_files(*store_, stored, run.folder, job.files, made,
                                      [&] { stored_.push_back(run.id); });
        if (!sums) return tl::unexpected(sums.error());
        if (auto note = site::note_of_later_run(*store_, series, run.started); !note.empty())
            notes_.insert(notes_.begin(), std::move(note));
        print_notes(std::exchange(notes_, {}));
        print_notes(sums->notes);
        if (!job.name.empty()) print("job {}:\n", printable(job.name));
        for (const auto& file : job.files)
            print(
                "{}: {}\n", printable(file.name),
                file.unread.empty() ? std::string(name_of(file.dialect)) : printable(file.unread));
        return report_run(*store_, run).map([&] {
            return StoredJob{run.id, static_cast<ExitCode>(stored.end->exit_code)};
        });
    }

    // Each job beside the first one.
    Expected<void> compare_jobs(const std::vector<std::string>& runs) {
        const compare::RunDatabase database{*store_, results_};
        return compare::compare(database, database, {runs, compare::Chosen::by_job, {}})
            .map([&](const reports::CompareView& view) {
                print("\n{}", compare_text(view, kTestsOfACause));
            });
    }

    static constexpr std::size_t kTestsOfACause = 3;

    const ImportRequest& request_;
    const config::Invocation& invocation_;
    const config::Settings& settings_;
    std::string series_;
    fs::path results_;
    WallTime started_;
    std::optional<archive::OpenResults> store_;
    std::vector<std::string> notes_;
    Copies copies_;
    std::size_t jobs_ = 0;
    std::vector<std::string> stored_;  // ids
};

}  // namespace

Expected<ExitCode> import_results(const ImportRequest& request,
                                  const config::Invocation& invocation) {
    const auto settings = config::Settings::resolve(invocation, nullptr);
    if (!settings) return tl::unexpected(settings.error());
    return Import(request, invocation, *settings).run();
}

}  // namespace compat::run
