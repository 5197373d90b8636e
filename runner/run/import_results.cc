#include "runner/run/import_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <random>

#include "runner/analysis/verdict.h"
#include "runner/archive/imported_files.h"
#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "runner/archive/temp_output.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/run/fingerprint.h"
#include "runner/run/reporting/reporting.h"
#include "runner/site/series.h"

namespace compat::run {

namespace fs = std::filesystem;
using config::Setting;
using display::print;

namespace {

// The copies are read, so that they hold exactly what is stored. Unpacked files in `room` are moved
// instead of copied.
Expected<void> copy_into(const fs::path& folder, const fs::path& room,
                         std::vector<archive::ImportedFile>& files) {
    if (auto made = make_directories(folder / archive::kImportedFolder); !made) return made;
    for (size_t i = 0; i < files.size(); ++i) {
        archive::ImportedFile& file = files[i];
        if (!file.unread.empty()) continue;
        const fs::path copy = fs::path(archive::kImportedFolder) /
                              fmt::format("{}-{}", i + 1, escaped_component(file.name));
        if (file.file.parent_path() == room) {
            std::error_code error;
            fs::rename(file.file, folder / copy, error);
            if (error)
                return fail(ErrorKind::io, "cannot be moved: " + error.message(), {},
                            file.file.string());
        } else if (auto copied = copy_file(FileBelow::followed(file.file), folder / copy);
                   !copied) {
            return copied;
        }
        file.file = folder / copy;
        file.log = copy;
    }
    std::error_code ignored;
    fs::remove(room, ignored);
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
                        const std::string& series,
                        const std::vector<archive::ImportedFile>& files) {
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
    info.fingerprint = archive::describe_files(files);
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
                                          archive::TempOutput& output) {
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
    output.keep();
    return sums;
}

}  // namespace

Expected<ExitCode> import_results(const ImportRequest& request,
                                  const config::Invocation& invocation) {
    const auto settings = config::Settings::resolve(invocation, nullptr);
    if (!settings) return tl::unexpected(settings.error());
    archive::RunFolder run;
    run.results = fs::absolute(settings->text(Setting::results));
    run.started = SystemClock().wall();
    const std::string& name = settings->text(Setting::name);
    const std::string& series = name.empty() ? request.suite : name;
    run.id = make_run_id(series, run.started, std::random_device{}());
    run.folder = run.results / "runs" / run.id;
    std::optional<archive::OpenResults> store;
    const auto open = [&]() -> Expected<void> {
        auto opened = archive::open_results(run.results);
        if (!opened) return tl::unexpected(opened.error());
        store.emplace(std::move(*opened));
        return {};
    };
    // Before stdin is read, which cannot be repeated. A new folder is made only once there are
    // results.
    std::error_code error;
    if (fs::exists(run.results / "runner.db", error) || fs::exists(run.results / "runs", error))
        if (auto opened = open(); !opened) return tl::unexpected(opened.error());
    archive::TempOutput made(run.folder, report_interruption(run.id));
    const fs::path room = run.folder / "incoming";
    std::vector<std::string> notes;
    auto files = archive::find_import_files(
        {request.files, request.dialect, request.stdin_name, run.results}, room, notes);
    if (!files) return tl::unexpected(files.error());
    if (!store)
        if (auto opened = open(); !opened) return tl::unexpected(opened.error());
    if (auto copied = copy_into(run.folder, room, *files); !copied)
        return tl::unexpected(copied.error());

    store::StoredRun stored{
        run_info(request, invocation, *settings, run, series, *files),
        store::RunEnd{.finished = run.started, .mismatches = {}, .not_run_reason = {}}, 0};
    const auto sums = store_files(*store, stored, run.folder, *files, made);
    if (!sums) return tl::unexpected(sums.error());
    if (auto note = site::note_of_later_run(*store, series, run.started); !note.empty())
        notes.insert(notes.begin(), std::move(note));
    print_notes(notes);
    print_notes(sums->notes);
    for (const auto& file : *files)
        print("{}: {}\n", printable(file.name),
              file.unread.empty() ? std::string(name_of(file.dialect)) : printable(file.unread));
    return report_run(*store, run).map([&] {
        return static_cast<ExitCode>(stored.end->exit_code);
    });
}

}  // namespace compat::run
