// The progress protocol: of a child's events file the executor understands `session`, `collected`,
// `ready`, `start`, `end` and `finish`, and nothing else. Not here: what the tests did
// (parsers/events.h), and never the log's text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/exec/event.h"

namespace compat::exec {

// Follows one growing events file.
class ProgressReader {
  public:
    explicit ProgressReader(std::filesystem::path events) : path_(std::move(events)) {}

    // Reads what has been added since the last call. A file that is not there yet is no progress;
    // one that was damaged and written again is read again. True where anything changed.
    bool poll();
    [[nodiscard]] const Progress& progress() const { return progress_; }
    // Of the tests that ended and did not pass, those since the last call.
    [[nodiscard]] std::vector<TestEnd> take_ends() { return std::exchange(ends_, {}); }

    // One whole line, without its newline. Lines that are not of the protocol change nothing, nor
    // do those out of their order: they were read before, or the harness did not write them.
    void feed(std::string_view line);

  private:
    bool is_next(std::int64_t seq);

    std::filesystem::path path_;
    std::uint64_t offset_ = 0;
    std::uint64_t inode_ = 0;
    std::string partial_;    // an unfinished last line
    std::int64_t pid_ = 0;   // writer of the first line; other processes' lines do not count
    std::int64_t next_ = 0;  // number of the next line; 0: so far none had one
    std::vector<std::string> open_;  // tests that have started and not ended, outermost first
    Progress progress_;
    std::vector<TestEnd> ends_;
};

}  // namespace compat::exec
