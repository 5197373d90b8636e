// The lines of an attempt's log that are about one test, for a person to read: `runner show`,
// reports. Reads a log of any size once, with memory for some hundred lines. Not for verdicts: the
// parsers read logs for these (parsers/attempt.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::archive {

struct ExcerptOptions {
    std::size_t lines = 40;
    std::vector<std::string> secrets;  // values to mask (base/secrets.h)
};

struct LogExcerpt {
    // Printable, without terminal escapes, with secrets masked. A longer passage has its first and
    // last lines, and between them one that gives the number of those left out.
    std::vector<std::string> lines;
    std::uint64_t first_line = 0;  // number of the first one, from 1; 0: the log is empty
    bool about_test = false;       // false: no line names the test, so these are the log's last
};

// `log` is relative to the run's `folder`. The passage begins at the heading that the framework
// printed for the test's failure, else at the first line that names the test, and it ends before
// the next heading, or at the last line that names the test, or at the log's end. Errors: usage,
// for a name that leaves the folder; io, for a log that is gone or is no file.
[[nodiscard]] Expected<LogExcerpt> log_excerpt(const fs::path& folder, const std::string& log,
                                               std::string_view test,
                                               const ExcerptOptions& options = {});
// One for each of `tests`, in their order, from one reading of the log.
[[nodiscard]] Expected<std::vector<LogExcerpt>> log_excerpts(const fs::path& folder,
                                                             const std::string& log,
                                                             const std::vector<std::string>& tests,
                                                             const ExcerptOptions& options = {});

}  // namespace compat::archive
