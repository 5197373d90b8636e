// host.h on Linux: /proc.
#include "runner/base/host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>

namespace compat {

fs::path program_path() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error);
}

namespace {

// The value of the first line "key<separator>value" of a file of the system's.
std::string field_of(const char* path, std::string_view key, char separator) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(key)) continue;
        const size_t at = line.find(separator);
        if (at == std::string::npos) continue;
        const size_t begin = line.find_first_not_of(" \t\"", at + 1);
        const size_t end = line.find_last_not_of(" \t\"");
        if (begin == std::string::npos || end < begin) return {};
        return line.substr(begin, end - begin + 1);
    }
    return {};
}

}  // namespace

std::string os_name() { return field_of("/etc/os-release", "PRETTY_NAME", '='); }

std::string cpu_model() { return field_of("/proc/cpuinfo", "model name", ':'); }

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

const char* library_path_variable() { return "LD_LIBRARY_PATH"; }

// getrusage(2): KiB, and blocks of 512 bytes.
UsageBytes bytes_of(const rusage& used) {
    constexpr std::int64_t kKiB = 1024, kBlock = 512;
    return {static_cast<std::int64_t>(used.ru_maxrss) * kKiB,
            static_cast<std::int64_t>(used.ru_inblock) * kBlock,
            static_cast<std::int64_t>(used.ru_oublock) * kBlock};
}

FileTimes times_of(const struct stat& file) { return {file.st_atim, file.st_mtim, file.st_ctim}; }

bool clone_file(const fs::path& from, const fs::path& to) {
    const int source = ::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (source < 0) return false;
    const int made = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool cloned = made >= 0 && ::ioctl(made, FICLONE, source) == 0;
    if (made >= 0) ::close(made);
    ::close(source);
    if (made >= 0 && !cloned) ::unlink(to.c_str());
    return cloned;
}

void end_with_parent(int signal) { ::prctl(PR_SET_PDEATHSIG, signal); }

std::string signal_name(int signal) {
    const char* name = sigabbrev_np(signal);
    return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace compat
