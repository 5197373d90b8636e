// How a process ended, by what others printed of it in a log: a shell ("Segmentation fault (core
// dumped)"), CTest, a sanitizer, Python. Not for logs of our own attempts, whose end the runner
// knows.
#pragma once

#include <optional>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// In order, or nobody knows.
inline const ProcessEnd kInOrder{.kind = ProcessEnd::Kind::exited, .detail = {}};
inline const ProcessEnd kBrokenOff{.kind = ProcessEnd::Kind::stopped,
                                   .detail = "the log breaks off"};

// By the last such line near the end of `log`; nothing where there is none.
[[nodiscard]] std::optional<ProcessEnd> printed_end(std::string_view log);

// Whether a shell says in the line how a process ended: "bash: line 1: 8236 Killed". Dots and
// letters of tests may stand in front.
[[nodiscard]] bool says_death(std::string_view line);

// The end of a process whose log breaks off: as it is printed there; else, where `more_follows` in
// the same file, a crash of unknown kind; else unknown: what ran then is not_run.
[[nodiscard]] ProcessEnd end_of_cut_log(std::string_view log, bool more_follows);

}  // namespace compat::parsers
