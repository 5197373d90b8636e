// The progress protocol: of a child's events file the executor understands `session`, `collected`,
// `ready`, `start`, `end` and `finish`, and nothing else. Not here: what the tests did
// (parsers/events.h), and never the log's text.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/line_reader.h"
#include "runner/exec/event.h"

namespace compat::exec {

// Follows one growing events file, within bounds whatever a test puts in its place (line_reader.h).
class ProgressReader {
  public:
    explicit ProgressReader(std::filesystem::path events, LineLimits limits = {})
        : lines_(std::move(events), limits) {}

    // Reads what has been added since the last call. A file that is not there yet is no progress;
    // one that was damaged and written again is read again. True where anything changed. Where more
    // was added than is read at once, `progress().behind`: the next call reads on.
    bool poll();
    [[nodiscard]] const Progress& progress() const { return progress_; }
    // Of the tests that ended and did not pass, those since the last call.
    [[nodiscard]] std::vector<TestEnd> take_ends() { return std::exchange(ends_, {}); }

    // One whole line, without its newline. Lines that are not of the protocol change nothing, nor
    // do those out of their order: they were read before, or the harness did not write them. Of a
    // line that was cut, its head counts.
    void feed(std::string_view line, bool cut = false);

  private:
    bool is_next(std::int64_t seq);

    LineReader lines_;
    std::int64_t pid_ = 0;   // writer of the first line; other processes' lines do not count
    std::int64_t next_ = 0;  // number of the next line; 0: so far none had one
    // Tests that have started and not ended, outermost first: the innermost of them.
    std::deque<std::string> open_;
    Progress progress_;
    std::vector<TestEnd> ends_;
};

}  // namespace compat::exec
