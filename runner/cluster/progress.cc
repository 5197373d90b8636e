#include "runner/cluster/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "runner/archive/run_record.h"
#include "runner/base/files/file_below.h"
#include "runner/base/text.h"

namespace compat::cluster {

namespace {

// The whole lines of a file from `read` on, which becomes the end of the last one.
std::vector<std::string> lines_from(const fs::path& file, std::uint64_t& read) {
    const auto opened = open_file(file);
    if (!opened) return {};
    std::string text;
    std::array<char, 1 << 14> part;
    for (ssize_t n = 0; (n = ::pread(opened->get(), part.data(), part.size(),
                                     static_cast<off_t>(read + text.size()))) > 0;)
        text.append(part.data(), static_cast<std::size_t>(n));
    std::vector<std::string> lines;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
        lines.push_back(text.substr(begin, end - begin));
    read += begin;
    return lines;
}

std::size_t modules_with_attempts(const fs::path& folder) {
    const auto record = archive::read_record(folder);
    if (!record) return 0;
    return static_cast<std::size_t>(
        std::count_if(record->attempts.begin(), record->attempts.end(),
                      [](const auto& module) { return !module.second.empty(); }));
}

}  // namespace

ShardProgress::ShardProgress(const archive::ShardPlan& plan, const fs::path& results) {
    for (std::size_t i = 1; i <= plan.shards.size(); ++i) {
        shards_.push_back({results / "runs" / archive::run_id_of_shard(plan, i)});
        modules_ += plan.shards[i - 1].modules.size();
    }
}

std::vector<std::string> ShardProgress::new_lines() {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
        Shard& shard = shards_[i];
        for (const std::string& line : lines_from(shard.folder / "run.log", shard.read))
            // The time is up to the first space.
            lines.push_back(fmt::format("shard {}: {}", i + 1,
                                        line.substr(std::min(line.size(), line.find(' ') + 1))));
        std::error_code error;
        const auto bytes = fs::file_size(shard.folder / "record.jsonl", error);
        if (error || bytes == shard.record_bytes) continue;
        shard.record_bytes = bytes;
        shard.done = modules_with_attempts(shard.folder);
    }
    return lines;
}

std::size_t ShardProgress::modules_done() const {
    std::size_t done = 0;
    for (const Shard& shard : shards_) done += shard.done;
    return done;
}

std::string ShardProgress::words() const {
    return fmt::format("{} of {}", modules_done(), counted(static_cast<long>(modules_), "module"));
}

}  // namespace compat::cluster
