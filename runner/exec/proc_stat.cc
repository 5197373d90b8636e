#include "runner/exec/proc_stat.h"

#include <filesystem>
#include <sstream>

#include "runner/base/files.h"

namespace compat::exec {

std::optional<ProcStat> proc_stat(int pid) {
    const auto text = read_file(std::filesystem::path("/proc") / std::to_string(pid) / "stat");
    if (!text) return std::nullopt;
    // proc(5): the name, which may hold anything, ends at the last ')'; state, ppid, pgrp, session.
    const size_t open = text->find('('), close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos) return std::nullopt;
    std::istringstream fields(text->substr(close + 1));
    ProcStat stat;
    int group = 0;
    if (!(fields >> stat.state >> stat.parent >> group >> stat.session)) return std::nullopt;
    stat.name = text->substr(open + 1, close - open - 1);
    return stat;
}

bool descends_from(int pid, int ancestor) {
    while (pid > 0 && pid != ancestor) {
        const auto stat = proc_stat(pid);
        pid = stat ? stat->parent : 0;
    }
    return pid > 0;
}

}  // namespace compat::exec
