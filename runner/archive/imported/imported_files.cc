#include "runner/archive/imported/imported_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>

#include "parsers/attempt.h"
#include "parsers/import/gtest/log_and_file.h"
#include "parsers/import/lines.h"
#include "parsers/import/unnamed.h"
#include "parsers/text.h"
#include "runner/analysis/accounting.h"
#include "runner/analysis/verdict.h"
#include "runner/archive/imported/input_decoder.h"
#include "runner/base/files.h"
#include "runner/base/isolation/file_tree.h"

namespace compat::archive {

using parsers::ModuleRecord;

namespace {

std::string known_dialects() {
    return fmt::format("known are: {}", fmt::join(parsers::kDialectNames, ", "));
}

// All files under a folder, sorted by name; for a file, the file.
Expected<std::vector<fs::path>> files_named(const std::string& name, const fs::path& results) {
    std::error_code error;
    const fs::path at(name);
    if (name == kStdin) return std::vector{at};
    if (!fs::exists(at, error)) return fail(ErrorKind::usage, "no such file", {}, name);
    if (!fs::is_directory(at, error)) return std::vector{at};
    std::vector<fs::path> files;
    WalkVisitor visitor;
    visitor.file = [&](const FoundFile& file) {
        std::error_code none;
        if (fs::is_regular_file(at / file.path, none)) files.push_back(at / file.path);
        return true;
    };
    visitor.folder = [&](const FoundFile& folder) {
        std::error_code none;
        return !fs::equivalent(at / folder.path, results, none);
    };
    error = walk_files(at, {.most = kMostWalked, .longest = PATH_MAX}, visitor);
    if (error) return fail(ErrorKind::io, "cannot be read: " + error.message(), {}, name);
    std::sort(files.begin(), files.end());
    return files;
}

// A file is of the job whose path says most of it; files without a job come last.
std::vector<FileOfJob> most_specific_first(std::vector<FileOfJob> names) {
    std::ranges::stable_sort(names, {}, [](const FileOfJob& named) {
        std::error_code error;
        const auto length =
            static_cast<std::ptrdiff_t>(fs::weakly_canonical(named.name, error).native().size());
        return std::pair(named.job.empty(), named.job.empty() ? 0 : -length);
    });
    return names;
}

// Whether a log of no known dialect has a line like "..F." of tests: a run that was cut off.
bool shows_cut_off_run(std::string_view bytes) {
    for (parsers::LogLines lines(bytes.substr(0, parsers::kSniffedBytes)); lines.next();)
        if (lines.line().size() > 3 && lines.line().find_first_not_of(".FEsxXu") == bytes.npos)
            return true;
    return false;
}

// Lines of `gh run view --log`: "JOB<TAB>STEP<TAB>TIME TEXT".
bool has_several_jobs(std::string_view bytes) {
    static const RE2 kLine(R"((?m)^([^\t\n]+)\t[^\t\n]+\t\x{FEFF}?\d{4}-\d\d-\d\dT[\d:.]+Z )");
    std::string first, job;
    for (re2::StringPiece rest(bytes); RE2::FindAndConsume(&rest, kLine, &job);)
        if (first.empty())
            first = job;
        else if (job != first)
            return true;
    return false;
}

struct OneImported {
    std::optional<ImportedFile> file;
    Error why_none;
};

// Removes its copy from `into` if the file has no results.
Expected<OneImported> one_imported(const fs::path& file, const WhatToImport& what,
                                   std::optional<parsers::Dialect> dialect, const fs::path& into) {
    auto plain = plain_file(file.string(), what.stdin_name, into);
    if (!plain) return tl::unexpected(plain.error());
    // Not mapped: whoever writes it may shorten it meanwhile.
    const auto ends = ends_of(plain->file, parsers::kSniffedBytes);
    if (!ends) return tl::unexpected(ends.error());
    if (has_several_jobs(*ends))
        return fail(ErrorKind::usage, "this log holds several jobs",
                    "save each by itself, with `gh run view --job ID --log`, and name it with "
                    "--job NAME=PATH",
                    file.string());
    const auto signs = parsers::signs_in(*ends);
    const auto seen = dialect ? dialect : parsers::recognise(signs);
    if (!seen) {
        std::error_code ignored;
        fs::remove(into, ignored);
        if (ends->empty())
            return OneImported{{}, {ErrorKind::usage, "this file is empty", {}, file.string()}};
        if (shows_cut_off_run(*ends))
            return fail(
                ErrorKind::usage,
                "this looks like the log of a test run that was cut off, without its summary",
                "run it again with --junit-xml or -v: such a log names no test", file.string());
        return OneImported{{},
                           {ErrorKind::usage, "these are no results in any known dialect",
                            "say which with --dialect; " + known_dialects(), file.string()}};
    }
    return OneImported{
        ImportedFile{std::move(plain->file),
                     std::move(plain->name),
                     *seen,
                     dialect ? std::vector<parsers::Dialect>{} : parsers::others_in(signs, *seen),
                     {},
                     {}},
        {}};
}

std::string describe_unread(const Error& error) {
    return error.advice.empty() ? error.message : error.message + ": " + error.advice;
}

parsers::Dialect dialect_named(const nlohmann::ordered_json& name) {
    const auto dialect = parsers::dialect_of(name.get<std::string>());
    if (!dialect)
        throw nlohmann::ordered_json::other_error::create(501, "an unknown dialect", &name);
    return *dialect;
}

// The module's duration is the sum over its tests.
double seconds_of(const ModuleRecord& record) {
    double sum = 0;
    for (const auto& test : record.cases) sum += test.duration_s;
    return sum;
}

class Reading {
  public:
    Reading(ImportSums& sums, const std::function<Expected<void>(store::JobResult)>& see)
        : sums_(sums), see_(see) {}

    // GoogleTest's logs complete its other files: its runs are handed on when all are read.
    Expected<void> read_all(const std::vector<ImportedFile>& files) {
        pairs_googletest_ = std::ranges::any_of(files, is_googletest_log) &&
                            std::ranges::any_of(files, [](const ImportedFile& file) {
                                return file.dialect == parsers::Dialect::junit_xml ||
                                       file.dialect == parsers::Dialect::googletest_json;
                            });
        for (const ImportedFile& file : files)
            repeated_.insert(file.repeats.begin(), file.repeats.end());
        for (file_ = 0; file_ < files.size(); ++file_) TRY(read(files[file_]));
        std::vector<std::pair<ModuleRecord, size_t>> parts;
        for (auto& [log, file] : googletest_logs_)
            parts.emplace_back(of_googletest_.completed(std::move(log), files[file].name), file);
        for (auto& rest : of_googletest_.take_rest()) parts.push_back(std::move(rest));
        std::ranges::stable_sort(parts, {}, &std::pair<ModuleRecord, size_t>::second);
        for (auto& [part, file] : parts) {
            file_ = file;
            TRY(take_part(std::move(part), files[file]));
        }
        return {};
    }

  private:
    static bool is_googletest_log(const ImportedFile& file) {
        return file.dialect == parsers::Dialect::googletest_text;
    }

    Expected<void> read(const ImportedFile& file) {
        if (!file.unread.empty()) {
            sums_.mismatches.push_back({file.name, "it was not read: " + file.unread});
            return {};
        }
        const auto mapped = Mapped::open(file.file);
        if (!mapped) return tl::unexpected(mapped.error());
        unnamed_runs_ = 0;
        Expected<void> done;
        std::size_t run = 0;
        const auto of_file = parsers::read_result_file(
            file.dialect, {file.name, mapped->bytes()}, [&](ModuleRecord part) {
                const bool is_of_job =
                    file.runs.empty() || std::ranges::binary_search(file.runs, run);
                ++run;
                if (done && is_of_job) done = take(std::move(part), file);
            });
        if (!file.undecided.empty())
            sums_.mismatches.push_back(
                {file.name,
                 fmt::format("{} has results of the same tests, and nothing says how the two "
                             "belong together: give each to its job with --job NAME=PATH, or put "
                             "retries into folders attempt-1 and attempt-2",
                             file.undecided)});
        if (unnamed_runs_ > 0)
            sums_.notes.push_back(fmt::format(
                "{}: {}{}", file.name, unnamed_,
                unnamed_runs_ == 1 ? "" : fmt::format(" (the first of {} runs)", unnamed_runs_)));
        for (const auto& said : of_file) {
            const bool differ = said.message.starts_with(parsers::kTotalsDiffer) ||
                                said.message.starts_with(parsers::kAmbiguous);
            const std::string place = fmt::format("byte {}: {}", said.offset, said.message);
            if (differ)
                sums_.mismatches.push_back({file.name, place});
            else
                sums_.notes.push_back(file.name + ": " + place);
        }
        for (const parsers::Dialect other : file.also)
            sums_.mismatches.push_back(
                {file.name,
                 fmt::format("one framework is read of a file, here {0}. It has results of {1}, "
                             "too: import it again with --dialect {1}; or, if tests "
                             "printed them, with --dialect {0}",
                             name_of(file.dialect), name_of(other))});
        return done;
    }

    Expected<void> take(ModuleRecord part, const ImportedFile& file) {
        if (!pairs_googletest_ || !is_framework(part.framework, Framework::gtest))
            return take_part(std::move(part), file);
        if (is_googletest_log(file))
            googletest_logs_.emplace_back(std::move(part), file_);
        else
            of_googletest_.hold(std::move(part), file.name, file_, file.dialect);
        return {};
    }

    Expected<void> take_part(ModuleRecord part, const ImportedFile& file) {
        sums_.frameworks.insert(part.framework);
        for (const auto& mismatch : analysis::account(part).mismatches)
            sums_.mismatches.push_back(
                {part.path.empty() ? file.name : part.path, mismatch.text()});
        for (ModuleRecord& module : parsers::split_modules(std::move(part))) {
            if (module.path.empty()) module.path = file.name;
            if (!file.repeats.empty() && !leave_new_tests(module, file.repeats)) continue;
            if (!file.shard.empty()) name_by_shard(module, file.shard);
            auto kind = AttemptKind::rest;
            for (ModuleRecord& attempt : parsers::split_attempts(std::move(module))) {
                if (auto seen = take_module(std::move(attempt), kind, file); !seen) return seen;
                kind = AttemptKind::again;
            }
        }
        return {};
    }

    // Whether a file that repeats others has a test that they do not have.
    bool leave_new_tests(ModuleRecord& record, const std::vector<std::size_t>& others) const {
        std::erase_if(record.cases, [&](const parsers::CaseRecord& test) {
            return parsers::is_unnamed(test) || std::ranges::any_of(others, [&](std::size_t other) {
                       const auto known = tests_.find(other);
                       return known != tests_.end() && known->second.contains(test.id);
                   });
        });
        record.collected = static_cast<std::int64_t>(record.cases.size());
        return !record.cases.empty();
    }

    // "pkg/slow_test [shard 1 of 2]"
    static void name_by_shard(ModuleRecord& record, const std::string& shard) {
        const std::string path = fmt::format("{} [shard {}]", record.path, shard);
        for (auto& test : record.cases)
            if (test.id.starts_with(record.path)) test.id.replace(0, record.path.size(), path);
        record.path = path;
    }

    // `kind`: of another attempt than the module's first.
    Expected<void> take_module(ModuleRecord record, AttemptKind kind, const ImportedFile& file) {
        Module& module = modules_[record.path];
        if (repeated_.contains(file_))
            for (const auto& test : record.cases) tests_[file_].insert(test.id);
        // Nothing tells that they are the tests of an earlier run: each row is one of its own. But
        // GoogleTest's iterations run the same tests.
        if (std::ranges::any_of(record.cases, parsers::is_unnamed)) {
            ++module.unnamed;
            if (!is_framework(record.framework, Framework::gtest))
                for (auto& test : record.cases)
                    if (parsers::is_unnamed(test)) parsers::number_unnamed(test, module.unnamed);
            const std::string note = parsers::note_on_unnamed(record);
            if (!note.empty() && unnamed_runs_++ == 0) unnamed_ = note;
        }
        store::JobResult job;
        job.attempt = ++module.attempts;
        if (job.attempt > 1) job.kind = kind;
        job.log = file.log;
        job.process_end = "imported";
        job.duration_s = seconds_of(record);
        sums_.duration_s += job.duration_s;
        sums_.collected += record.collected;
        for (const auto& test : record.cases)
            if (analysis::is_unexpected(test.state, record.framework))
                sums_.unexpected.insert(test.id);
            else
                sums_.unexpected.erase(test.id);
        parsers::diagnose(record);
        job.record = std::move(record);
        return see_(std::move(job));
    }

    ImportSums& sums_;
    const std::function<Expected<void>(store::JobResult)>& see_;
    struct Module {
        int attempts = 0;
        int unnamed = 0;  // runs with tests without a name
    };
    std::set<size_t> repeated_;  // files that others repeat, and the ids of their tests
    std::map<size_t, std::set<std::string>> tests_;
    std::map<std::string, Module> modules_;  // by path
    parsers::GoogletestFiles of_googletest_;
    std::vector<std::pair<ModuleRecord, size_t>> googletest_logs_;  // with their files' numbers
    bool pairs_googletest_ = false;          // there are logs and other files
    size_t file_ = 0;                        // the number of the file that is read
    int unnamed_runs_ = 0;                   // of one file: with tests that have no name
    std::string unnamed_;                    // those of the first
};

}  // namespace

Expected<std::vector<ImportedFile>> find_import_files(const WhatToImport& what,
                                                      const fs::path& room,
                                                      std::vector<std::string>& notes) {
    std::optional<parsers::Dialect> all;
    if (!what.dialect.empty()) {
        all = parsers::dialect_of(what.dialect);
        if (!all)
            return fail(ErrorKind::usage, fmt::format("unknown dialect '{}'", what.dialect),
                        known_dialects());
    }
    std::vector<ImportedFile> found;
    std::set<fs::path> taken;
    for (const auto& [name, job] : most_specific_first(what.names)) {
        const std::size_t before = found.size();
        const auto files = files_named(name, what.results);
        if (!files) return tl::unexpected(files.error());
        std::error_code error;
        const bool folder = fs::is_directory(name, error);
        const fs::path whole = folder ? fs::canonical(name, error) : fs::path();
        size_t known = 0;
        for (const fs::path& file : *files) {
            const fs::path itself = fs::canonical(file, error);  // fails for a pipe
            if (folder && !error && !is_inside(itself, whole)) {
                notes.push_back(
                    fmt::format("passed over {}: a link out of the folder", file.string()));
                continue;
            }
            if (name != kStdin && !error && !taken.insert(itself).second) {
                ++known;
                continue;
            }
            auto one = one_imported(file, what, all, room / std::to_string(found.size()));
            if (!one && (!folder || one.error().kind == ErrorKind::io))
                return tl::unexpected(one.error());
            if (one && !one->file) {
                if (!folder) return tl::unexpected(one->why_none);
                notes.push_back(
                    fmt::format("passed over {}: {}", file.string(), one->why_none.message));
                continue;
            }
            ++known;
            ImportedFile& added = found.emplace_back();
            if (one) {
                added = std::move(*one->file);
            } else {
                added.name = file.string();
                added.unread = describe_unread(one.error());
            }
            if (name != kStdin) added.place = fs::absolute(file, error).lexically_normal();
            added.job = job;
        }
        if (known == 0)
            return fail(ErrorKind::usage, "no results in this folder", known_dialects(), name);
        if (!job.empty() && found.size() == before)
            return fail(ErrorKind::usage,
                        fmt::format("--job {}: each of its files is of another job", job),
                        "name each file or folder once", name);
    }
    return found;
}

std::string describe_files(const std::vector<ImportedFile>& files) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ImportedFile& file : files) {
        if (!file.unread.empty()) {
            list.push_back({{"name", file.name}, {"unread", file.unread}});
            continue;
        }
        list.push_back(
            {{"name", file.name}, {"dialect", name_of(file.dialect)}, {"copy", file.log}});
        nlohmann::ordered_json& described = list.back();
        for (const parsers::Dialect other : file.also) described["also"].push_back(name_of(other));
        if (!file.runs.empty()) described["runs"] = file.runs;
        if (!file.shard.empty()) described["shard"] = file.shard;
        if (!file.repeats.empty()) described["repeats"] = file.repeats;
        if (!file.undecided.empty()) described["undecided"] = file.undecided;
    }
    return nlohmann::ordered_json{{"imported", list}}.dump(
        -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Expected<std::vector<ImportedFile>> described_files(const std::string& fingerprint,
                                                    const fs::path& folder) {
    std::vector<ImportedFile> files;
    const nlohmann::ordered_json described =
        nlohmann::ordered_json::parse(fingerprint, nullptr, false);
    if (!described.is_object() || !described.contains("imported")) return files;
    try {
        for (const nlohmann::ordered_json& file : described["imported"]) {
            ImportedFile& known = files.emplace_back();
            known.name = file.at("name");
            if (file.contains("unread")) {
                known.unread = file.at("unread");
                continue;
            }
            known.dialect = dialect_named(file.at("dialect"));
            known.log = file.at("copy");
            known.file = folder / known.log;
            for (const nlohmann::ordered_json& name :
                 file.value("also", nlohmann::ordered_json::array()))
                known.also.push_back(dialect_named(name));
            known.runs = file.value("runs", std::vector<std::size_t>());
            known.shard = file.value("shard", std::string());
            known.repeats = file.value("repeats", std::vector<std::size_t>());
            known.undecided = file.value("undecided", std::string());
        }
    } catch (const nlohmann::ordered_json::exception& error) {
        return fail(ErrorKind::usage,
                    fmt::format("the list of imported files is damaged ({})", error.what()), {},
                    folder.string());
    }
    return files;
}

Expected<ImportSums> read_imported(const std::vector<ImportedFile>& files,
                                   const std::function<Expected<void>(store::JobResult)>& see) {
    ImportSums sums;
    TRY(Reading(sums, see).read_all(files));
    return sums;
}

Expected<ImportSums> read_imported_modules(const std::vector<ImportedFile>& files, WallTime started,
                                           const store::ModuleVisitor& see) {
    return read_imported(files, [&](store::JobResult job) {
        store::StoredModule module;
        module.path = job.record.path;
        job.started = started;
        module.attempts.push_back(std::move(job));
        return see(std::move(module));
    });
}

}  // namespace compat::archive
