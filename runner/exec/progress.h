// The progress protocol: the executor reads the events `session`, `collected`, `ready`, `start`,
// `end` and `finish` from a child's events file. Not here: results of tests (parsers/events.h) and
// the text of logs.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/line_reader.h"
#include "runner/exec/event.h"

namespace compat::exec {

// Follows a growing events file, with bounded cost whatever a test writes there
// (base/line_reader.h).
class ProgressReader {
  public:
    // With a key, lines without its MAC are ignored (base/line_mac.h).
    explicit ProgressReader(FileBelow events, LineLimits limits = {}, std::string key = {})
        : lines_(std::move(events), limits), key_(std::move(key)) {}

    // Reads lines added since the last call; true if the progress changed. A missing file is no
    // progress; a rewritten file is read again. If more lines remain, `progress().behind` is true.
    bool poll();
    [[nodiscard]] const Progress& progress() const { return progress_; }
    // The tests that ended without passing since the last call.
    [[nodiscard]] std::vector<TestEnd> take_ends() { return std::exchange(ends_, {}); }

    // One line without its newline. Ignores lines outside the protocol and lines out of sequence:
    // they were read before, or the harness did not write them. Reads the head of a `cut` line.
    void feed(std::string_view line, bool cut = false);

  private:
    bool is_next(std::int64_t seq);

    LineReader lines_;
    std::string key_;
    std::int64_t pid_ = 0;   // writer of the first line; lines of other processes are ignored
    std::int64_t next_ = 0;  // number of the next line; 0: no numbered line yet
    // Started tests that have not ended, outermost first; bounded, without the outermost.
    std::deque<std::string> open_;
    Progress progress_;
    std::vector<TestEnd> ends_;
};

}  // namespace compat::exec
