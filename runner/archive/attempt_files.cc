#include "runner/archive/attempt_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "parsers/import/importers.h"
#include "runner/base/files.h"
#include "runner/base/isolation/source_copy.h"
#include "runner/base/line_reader.h"

namespace compat::archive {

using parsers::CaseRecord;
using parsers::ModuleRecord;
using parsers::State;

namespace {

// With the paths of the suite's source where the child saw those of the run's copy.
void visit_as_source(const Line& line, const LineVisitor& visit) {
    if (line.text.find(kSourceCopies) == line.text.npos) return visit(line);
    const std::string text = with_source_paths(line.text);
    Line changed = line;
    changed.text = text;
    changed.written = line.text;
    visit(changed);
}

void keep_reasons(const ModuleRecord& stored, ModuleRecord& record) {
    std::map<std::string_view, const CaseRecord*> not_run;
    for (const CaseRecord& test : stored.cases)
        if (test.state == State::not_run) not_run.emplace(test.id, &test);
    for (CaseRecord& test : record.cases)
        if (const auto at = not_run.find(test.id);
            at != not_run.end() && test.state == State::not_run)
            test.reason = at->second->reason;
}

}  // namespace

parsers::LineSource lines_of(FileBelow file, std::uint64_t most) {
    return parsers::LineSource::Read(
        [file = std::move(file), most](const LineVisitor& visit) -> std::string {
            std::error_code error;
            if (!fs::exists(fs::symlink_status(file.path(), error))) return {};
            LineLimits limits;
            limits.read_bytes = std::min<std::uint64_t>(limits.read_bytes, most);
            LineReader reader(file, limits);
            const LineVisitor see = [&](const Line& line) { visit_as_source(line, visit); };
            for (std::uint64_t read = 0; read < most; read += limits.read_bytes) {
                const auto more = reader.read(see);
                if (!more) return more.error().message;
                if (*more) continue;
                reader.finish(see);
                return {};
            }
            return fmt::format("the file has more than {} MiB; the rest was not read", most >> 20);
        });
}

parsers::TextSource text_of(FileBelow file, std::uint64_t most) {
    return parsers::TextSource::Read([file = std::move(file), most] {
        std::string text;  // of many MiB, so that it is moved
        if (auto read = read_file(file, most))
            text = std::move(*read);
        else if (read.error().kind == ErrorKind::usage)
            text = fmt::format("[runner: {}]\n", read.error().message);
        if (text.find(kSourceCopies) != text.npos) text = with_source_paths(text);
        return text;
    });
}

fs::path key_file(const fs::path& log) { return fs::path(log).replace_extension("key"); }

parsers::AttemptFiles files_of(const fs::path& folder, const AttemptFileNames& names) {
    const std::string& log = names.log;
    const auto lines = [&](const std::string& name) {
        return name.empty() ? parsers::LineSource("") : lines_of({folder, name});
    };
    constexpr std::uint64_t kLongestKey = 64;
    parsers::AttemptFiles files{lines(names.events),
                                log.empty() ? parsers::TextSource("") : text_of({folder, log}),
                                lines(names.devices)};
    files.hub = lines(names.hub);
    files.log_reader = parsers::read_attempt_log;
    if (!log.empty())
        files.key = read_file(FileBelow(folder, key_file(log)), kLongestKey).value_or("");
    return files;
}

parsers::AttemptFiles files_of(FileBelow log, FileBelow events) {
    parsers::AttemptFiles files{lines_of(std::move(events)), text_of(std::move(log)), ""};
    files.log_reader = parsers::read_attempt_log;
    return files;
}

bool has_files(const fs::path& folder, const std::vector<std::string>& names) {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
        return name.empty() || open_file({folder, name});
    });
}

parsers::Isolation isolation_of(const store::RunInfo& run) {
    return {run.isolation == "sandbox", run.network};
}

std::optional<ModuleRecord> read_attempt_again(const store::JobResult& stored,
                                               const store::RunInfo& run, const fs::path& folder) {
    if (!stored.ended) return std::nullopt;
    std::vector<std::string> needed{stored.events, stored.devices, stored.hub};
    // A process that could not be started leaves no log.
    if (stored.ended->kind != ProcessEnd::Kind::spawn_failed) needed.push_back(stored.log);
    if (!has_files(folder, needed)) return std::nullopt;
    parsers::AttemptFiles files =
        files_of(folder, {stored.log, stored.events, stored.devices, stored.hub});
    files.isolation = isolation_of(run);
    ModuleRecord record =
        parsers::read_attempt(files, run.framework, stored.record.path, *stored.ended);
    record.forked = stored.record.forked;
    keep_reasons(stored.record, record);
    return record;
}

}  // namespace compat::archive
