#include "runner/archive/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "runner/archive/attempt_files.h"
#include "runner/base/files.h"
#include "runner/base/host.h"
#include "runner/base/isolation/file_tree.h"
#include "runner/base/names.h"
#include "runner/exec/process_table.h"

namespace compat::archive {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kPlanFormat = 2;
constexpr int kLockTries = 10;
constexpr unsigned kLockPauseUs = 10'000;
// 200,000 modules have 800,000 files and folders.
constexpr std::int64_t kMostFiles = 4'000'000;
// With the run's folder it can be opened, and unpacked from an archive.
constexpr std::size_t kLongestName = PATH_MAX - 512;
// Files that do not belong to the run: how many are named, and how many bytes of each name.
constexpr std::size_t kNamedOthers = 1000, kLongestOther = 200;

fs::path lock_of(const fs::path& folder) { return folder / "lock"; }

// -1 with errno EWOULDBLOCK if another process has the lock, with ENOENT if the file was never
// locked.
int try_lock(const fs::path& folder, int flags, int how = LOCK_EX) {
    constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int fd = ::open(lock_of(folder).c_str(), flags | kFlags, 0666);
    if (fd < 0) return -1;
    if (::flock(fd, how | LOCK_NB) == 0) return fd;
    const int why = errno;
    ::close(fd);
    errno = why;
    return -1;
}

// The commands of other processes that hold the lock on this file, as far as the system tells.
std::vector<std::string> holders_of(const fs::path& file) {
    std::vector<std::string> commands;
    for (const int pid : lock_holders(file)) {
        const auto process = exec::process_table().find(pid);
        if (!process || pid == ::getpid()) continue;
        std::string command;
        for (const auto& word : exec::process_table().argv(pid, *process))
            command += shell_quoted(word) + " ";
        commands.push_back(fmt::format("{}(process {})", command, pid));
    }
    return commands;
}

}  // namespace

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
    if (fd_ >= 0) ::close(fd_);
}

Expected<ResultsLock> ResultsLock::take(const fs::path& results, int how) {
    const int fd = try_lock(results, O_CREAT, how);
    if (fd >= 0) return ResultsLock(fd);
    if (errno != EWOULDBLOCK)
        return fail(ErrorKind::io, fmt::format("cannot lock the results: {}", std::strerror(errno)),
                    "name a folder that can be written with --results", lock_of(results).string());
    const auto holders = holders_of(lock_of(results));
    return fail(
        ErrorKind::usage,
        how == LOCK_SH ? "the database is being rebuilt" : "another command is using these results",
        holders.empty() ? std::string("wait for its end, or end it")
                        : fmt::format("wait for the end of {}", fmt::join(holders, " and of ")),
        results.string());
}

Expected<ResultsLock> ResultsLock::share(const fs::path& results) { return take(results, LOCK_SH); }

Expected<ResultsLock> ResultsLock::acquire_exclusive(const fs::path& results) {
    return take(results, LOCK_EX);
}

std::string process_name_prefix(const RunFolder& run) {
    struct stat folder {};
    ::stat(run.folder.c_str(), &folder);
    return fmt::format("{}.{:x}-{:x}", run.id, folder.st_dev, folder.st_ino);
}

AttemptNames attempt_names(const std::string& module, int number, AttemptKind kind) {
    const fs::path folder = fs::path("modules") / escaped_path(module);
    const auto named = [&](std::string_view what) {
        return folder / fmt::format("{}.{}", number, what);
    };
    const fs::path written = named("written");
    return {named("log"), written / named("events.jsonl").filename(),
            written / named("devices.jsonl").filename(), written / named("hub.jsonl").filename(),
            named(fmt::format("{}.only", name_of(kind)))};
}

AttemptNames stored_names(const fs::path& folder, const std::string& module, int number,
                          AttemptKind kind) {
    AttemptNames names = attempt_names(module, number, kind);
    const fs::path beside = names.log.parent_path();
    std::error_code error;
    for (fs::path* name : {&names.events, &names.devices})
        if (const fs::path older = beside / name->filename();
            !fs::exists(folder / *name, error) && fs::exists(folder / older, error))
            *name = older;
    return names;
}

void remove_attempt(const fs::path& folder, const std::string& module, int number,
                    AttemptKind kind) {
    const AttemptNames names = attempt_names(module, number, kind);
    const fs::path beside = names.log.parent_path();
    const std::array files{names.log, names.only, key_file(names.log),
                           beside / names.events.filename(), beside / names.devices.filename()};
    for (const fs::path& name : files) remove_file({folder, name});
    remove_tree(folder / names.events.parent_path());
}

// A line for each module: of 200,000, one value would take 300 MB.
Expected<void> write_plan(const RunFolder& run, const RunPlan& plan) {
    const auto text_of = [](const Json& json) {
        return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    const Json head{{"format", kPlanFormat},   {"suite", plan.suite},
                    {"root", plan.root},       {"keyword", plan.keyword},
                    {"maxfail", plan.maxfail}, {"flaky_fails", plan.flaky_fails},
                    {"fail_on", plan.fail_on}};
    auto file = TRY(AtomicFile::create(run.folder / "plan.json"));
    for (const auto& [key, value] : head.items())
        file.write(
            fmt::format("{}{}: {}", key == "format" ? "{\n" : ",\n", text_of(key), text_of(value)));
    file.write(",\n\"modules\": [");
    std::string_view separator = "\n";
    for (const auto& module : plan.modules) {
        file.write(std::string(separator) +
                   text_of(Json{{"path", module.path}, {"only", module.only}}));
        separator = ",\n";
    }
    file.write("\n]}\n");
    return file.commit();
}

Expected<RunPlan> read_plan(const RunFolder& run) {
    const fs::path file = run.folder / "plan.json";
    const auto text = TRY(read_file(FileBelow(file)));
    try {
        const Json json = Json::parse(text);
        if (json.at("format") != kPlanFormat)
            return fail(ErrorKind::usage,
                        fmt::format("its plan has format {}, but this runner reads format {}",
                                    json.at("format").dump(), kPlanFormat),
                        "run the suite again", file.string());
        RunPlan plan;
        plan.suite = json.at("suite");
        plan.root = json.at("root");
        plan.keyword = json.at("keyword");
        plan.maxfail = json.at("maxfail");
        plan.flaky_fails = json.at("flaky_fails");
        plan.fail_on = json.value("fail_on", std::vector<std::string>{});
        for (const auto& module : json.at("modules"))
            plan.modules.push_back(
                {module.at("path"), module.at("only").get<std::vector<std::string>>()});
        return plan;
    } catch (const Json::exception& error) {
        return fail(ErrorKind::usage, fmt::format("this is not a run's plan: {}", error.what()),
                    "run the suite again", file.string());
    }
}

Expected<RunLock> RunLock::acquire(const fs::path& folder) {
    int fd = try_lock(folder, O_CREAT);
    // Somebody may only be looking (is_held).
    for (int tries = 0; fd < 0 && errno == EWOULDBLOCK && tries < kLockTries; ++tries) {
        ::usleep(kLockPauseUs);
        fd = try_lock(folder, O_CREAT);
    }
    if (fd >= 0) return RunLock(fd);
    if (errno == EWOULDBLOCK)
        return fail(ErrorKind::usage, "another runner is using this run",
                    "wait for its end, or end it", folder.string());
    return fail(ErrorKind::io, fmt::format("cannot lock the run: {}", std::strerror(errno)), {},
                lock_of(folder).string());
}

// Shared: several that look at once do not take each other for the holder.
bool RunLock::is_held(const fs::path& folder) {
    const int fd = try_lock(folder, 0, LOCK_SH);
    if (fd < 0) return errno == EWOULDBLOCK;
    ::close(fd);
    return false;
}

Expected<std::vector<std::string>> each_file(const fs::path& folder, const RunFileVisitor& visit) {
    std::vector<std::string> others;
    std::int64_t unnamed = 0, walked = 0;
    const auto add = [&](std::string_view name, std::string_view why) {
        if (others.size() >= kNamedOthers)
            ++unnamed;
        else
            others.push_back(fmt::format("{}{} ({})", first_bytes(name, kLongestOther),
                                         name.size() > kLongestOther ? "…" : "", why));
    };
    Expected<void> seen;
    WalkVisitor visitor;
    visitor.file = [&](const FoundFile& file) {
        if (++walked > kMostFiles)
            seen = fail(ErrorKind::usage, "it has more files than any run",
                        "remove what its tests left in modules/", folder.string());
        else if (!S_ISREG(file.status.st_mode))
            add(file.path, file_kind(file.status.st_mode));
        else if (file.path.size() > kLongestName)
            add(file.path, "its path is too long");
        else
            seen = visit(file.path);
        return seen.has_value();
    };
    visitor.unread = [&](const FoundFile& file, int error) {
        add(file.path, error == ENAMETOOLONG ? "a folder with too long a path"
                                             : "a folder that cannot be read");
    };
    const std::error_code error = walk_files(folder, {.longest = kLongestName}, visitor);
    if (error)
        return fail(ErrorKind::io, "cannot list the run's files: " + error.message(), {},
                    folder.string());
    if (!seen) return tl::unexpected(seen.error());
    if (unnamed > 0) others.push_back(fmt::format("{} more", unnamed));
    return others;
}

std::uint64_t folder_bytes(const fs::path& folder) {
    std::uint64_t bytes = 0;
    walk_files(folder, {.most = kMostFiles}, [&](const FoundFile& file) {
        if (S_ISREG(file.status.st_mode)) bytes += static_cast<std::uint64_t>(file.status.st_size);
    });
    return bytes;
}

void point_latest(const RunFolder& run) {
    std::error_code error;
    const fs::path link = run.results / "latest", beside = run.results / (".latest-" + run.id);
    fs::create_directory_symlink(fs::path("runs") / run.id, beside, error);
    if (!error) fs::rename(beside, link, error);
    if (error) fs::remove(beside, error);
}

}  // namespace compat::archive
