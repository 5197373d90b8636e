// host.h on macOS: sysctl and libproc.
#include "runner/base/host.h"

#include <fmt/format.h>
#include <libproc.h>
#include <mach-o/dyld.h>
#include <sys/clonefile.h>
#include <sys/sysctl.h>

#include <algorithm>
#include <cctype>
#include <csignal>

namespace compat {

namespace {

// Empty: there is no such text.
std::string system_text(const char* name) {
    size_t size = 0;
    if (::sysctlbyname(name, nullptr, &size, nullptr, 0) != 0 || size == 0) return {};
    std::string text(size, '\0');
    if (::sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) return {};
    text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
    return text;
}

}  // namespace

fs::path program_path() {
    std::uint32_t size = 0;
    ::_NSGetExecutablePath(nullptr, &size);
    std::string path(size, '\0');
    if (::_NSGetExecutablePath(path.data(), &size) != 0) return {};
    std::error_code error;
    return fs::canonical(path.c_str(), error);
}

std::string os_name() {
    const std::string version = system_text("kern.osproductversion");
    return version.empty() ? version : "macOS " + version;
}

std::string cpu_model() { return system_text("machdep.cpu.brand_string"); }

// macOS does not list locks: the processes that have the file open, most of which hold the lock.
std::vector<int> lock_holders(const fs::path& file) {
    std::vector<int> pids(256);
    const int room = static_cast<int>(pids.size() * sizeof(int));
    const int got = ::proc_listpidspath(PROC_ALL_PIDS, 0, file.c_str(), 0, pids.data(), room);
    pids.resize(got > 0 ? static_cast<size_t>(got) / sizeof(int) : 0);
    return pids;
}

const char* library_path_variable() { return "DYLD_LIBRARY_PATH"; }

// getrusage(2): bytes. It counts operations of disks, whose sizes differ.
UsageBytes bytes_of(const rusage& used) {
    return {static_cast<std::int64_t>(used.ru_maxrss), 0, 0};
}

FileTimes times_of(const struct stat& file) {
    return {file.st_atimespec, file.st_mtimespec, file.st_ctimespec};
}

bool clone_file(const fs::path& from, const fs::path& to) {
    return ::clonefile(from.c_str(), to.c_str(), CLONE_NOFOLLOW) == 0;
}

// macOS has no such signal (docs/design/macos.md).
void end_with_parent(int) {}

std::string signal_name(int signal) {
    if (signal <= 0 || signal >= NSIG) return fmt::format("signal {}", signal);
    std::string name = fmt::format("SIG{}", sys_signame[signal]);  // "segv"
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return name;
}

}  // namespace compat
