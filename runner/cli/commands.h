// All commands, in the order of `runner --help`. A new command is a row here and a file of its
// name.
#pragma once

#include <array>
#include <string_view>

#include "runner/cli/command.h"

#define COMPAT_COMMANDS(ROW) \
    ROW(run)                 \
    ROW(list)                \
    ROW(prepare)             \
    ROW(report)              \
    ROW(open)                \
    ROW(serve)               \
    ROW(site)                \
    ROW(runs)                \
    ROW(archive)             \
    ROW(prune)               \
    ROW(show)                \
    ROW(blame)               \
    ROW(compare)             \
    ROW(expect)              \
    ROW(nightly)             \
    ROW(resume)              \
    ROW(rerun)               \
    ROW(plan)                \
    ROW(merge)               \
    ROW(import)              \
    ROW(reparse)             \
    ROW(exec)                \
    ROW(porting)             \
    ROW(scan)                \
    ROW(gaps)                \
    ROW(hub)                 \
    ROW(devices)             \
    ROW(doctor)              \
    ROW(completions)

namespace compat::cli {

#define COMPAT_DECLARE(name) [[nodiscard]] Command name##_command();
COMPAT_COMMANDS(COMPAT_DECLARE)
#undef COMPAT_DECLARE

struct CommandRow {
    std::string_view name;
    Command (*make)();
};

#define COMPAT_ROW(name) CommandRow{#name, &name##_command},
inline constexpr std::array kCommands{COMPAT_COMMANDS(COMPAT_ROW)};
#undef COMPAT_ROW

}  // namespace compat::cli
