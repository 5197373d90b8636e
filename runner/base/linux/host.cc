#include "runner/base/host.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <fstream>

namespace compat {

namespace fs = std::filesystem;

fs::path program_path() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error);
}

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("model name")) continue;
        const size_t colon = line.find(':');
        const size_t begin = line.find_first_not_of(" \t", colon + 1);
        return colon == std::string::npos || begin == std::string::npos ? "" : line.substr(begin);
    }
    return {};
}

std::vector<int> lock_holders(const fs::path& file) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) return {};
    std::vector<int> pids;
    std::ifstream locks("/proc/locks");  // "1: FLOCK  ADVISORY  READ 2745 fe:00:2146421 0 EOF"
    std::string number, kind, advisory, access, inode, rest;
    for (int pid = 0; locks >> number >> kind >> advisory >> access >> pid >> inode;) {
        std::getline(locks, rest);
        if (kind == "FLOCK" && inode.ends_with(fmt::format(":{}", status.st_ino)))
            pids.push_back(pid);
    }
    return pids;
}

void end_with_parent(int signal) { ::prctl(PR_SET_PDEATHSIG, signal); }

std::string signal_name(int signal) {
    const char* name = sigabbrev_np(signal);
    return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace compat
