// process_table.h on Linux: /proc.
#include "runner/exec/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <fstream>
#include <memory>
#include <thread>

#include "runner/exec/fd.h"
#include "runner/exec/linux/pidfd.h"

namespace compat::exec {

namespace {

// Not read_file of runner/base: files of /proc have no size, and a scan reads hundreds of them.
std::optional<std::string> read_proc(int pid, const std::string& file) {
    const Fd fd(::open(fmt::format("/proc/{}/{}", pid, file).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return std::nullopt;
    std::string text;
    std::array<char, 4096> buffer;
    ssize_t n = 0;
    while ((n = ::read(fd.get(), buffer.data(), buffer.size())) > 0)
        text.append(buffer.data(), static_cast<size_t>(n));
    if (n < 0 || text.empty()) return std::nullopt;
    return text;
}

// The ids of processes or threads, from the names of their folders.
std::vector<int> numbers_in(const std::string& path) {
    std::vector<int> numbers;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
    if (!folder) return numbers;
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string_view name = entry->d_name;
        int number = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc{})
            numbers.push_back(number);
    }
    return numbers;
}

// The fields of /proc/PID/stat after the command's name, from the state on.
class Fields {
  public:
    explicit Fields(std::string_view text) : rest_(text) {}
    std::string_view next() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
        const auto field = rest_.substr(0, rest_.find_first_of(" \n"));
        rest_.remove_prefix(field.size());
        return field;
    }
    std::int64_t number() {
        const auto field = next();
        std::int64_t value = 0;
        std::from_chars(field.data(), field.data() + field.size(), value);
        return value;
    }
    void skip(int fields) {
        while (fields-- > 0) next();
    }

  private:
    std::string_view rest_;
};

// A tag is the soft limit on file locks (RLIMIT_LOCKS), which Linux ignores since 2.4.25 but keeps
// across fork and exec: 22 bits for the pid, Linux's maximum, and 41 for the run; the sign bit
// stays clear. A lower hard limit leaves a process without a tag.
constexpr int kPidBits = 22;

class LinuxProcessTable final : public ProcessTable {
  public:
    [[nodiscard]] std::vector<int> pids() const override;
    [[nodiscard]] std::optional<ProcessInfo> find(int pid) const override;
    [[nodiscard]] std::vector<int> children() const override;
    [[nodiscard]] std::vector<int> children_of(int pid) const override;
    [[nodiscard]] bool is_dying(int pid) const override;
    [[nodiscard]] std::optional<std::uint64_t> proportional_bytes(int pid) const override;
    [[nodiscard]] std::vector<std::string> argv(int pid, const ProcessInfo& info) const override;
    [[nodiscard]] std::string environment_value(int pid, std::string_view name) const override;
    void tag_leader(int pid, std::string_view run) override;
    [[nodiscard]] JobTag tag_of(int pid) const override;
    bool adopt_orphans() override;
    void signal(int pid, std::uint64_t start, int signal) override;
    [[nodiscard]] std::uint64_t memory_kills() const override;
    [[nodiscard]] std::uint64_t memory_limit() const override;
};

}  // namespace

std::optional<ProcessInfo> LinuxProcessTable::find(int pid) const {
    const auto text = read_proc(pid, "stat");
    if (!text) return std::nullopt;
    // proc(5): the name may contain any character and ends at the last ')'.
    const size_t open = text->find('('), close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos) return std::nullopt;
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    Fields fields(std::string_view(*text).substr(close + 1));
    const auto state = fields.next();
    if (state.empty()) return std::nullopt;
    ProcessInfo stat;
    stat.name = text->substr(open + 1, close - open - 1);
    stat.state = state.front();
    stat.parent = static_cast<int>(fields.number());
    stat.group = static_cast<int>(fields.number());
    stat.session = static_cast<int>(fields.number());
    fields.skip(13);  // up to the number of threads, the 20th of proc(5)
    const std::int64_t threads = fields.number();
    fields.skip(1);
    stat.start = static_cast<std::uint64_t>(fields.number());
    fields.skip(1);
    stat.rss_bytes = static_cast<std::uint64_t>(fields.number()) * page;
    // A process whose first thread has exited before others also shows state Z.
    stat.ended = stat.state == 'X' || (stat.state == 'Z' && threads <= 1);
    return stat;
}

bool LinuxProcessTable::is_dying(int pid) const {
    constexpr std::int64_t kExiting = 0x4;  // PF_EXITING
    // Checks every thread, as the first may have exited before others. A fatal signal becomes a
    // pending SIGKILL of every thread.
    for (const int thread : numbers_in(fmt::format("/proc/{}/task", pid))) {
        const auto text = read_proc(pid, fmt::format("task/{}/stat", thread));
        if (!text) continue;
        Fields fields(std::string_view(*text).substr(text->rfind(')') + 1));
        fields.skip(6);  // up to the flags, the 9th of proc(5)
        const std::int64_t flags = fields.number();
        fields.skip(21);
        const std::int64_t pending = fields.number();
        if ((flags & kExiting) == 0 && (pending & 1 << (SIGKILL - 1)) == 0) return false;
    }
    return true;
}

std::vector<int> LinuxProcessTable::pids() const { return numbers_in("/proc"); }

// Reads all its threads: an orphan may become the child of any thread.
std::vector<int> LinuxProcessTable::children_of(int pid) const {
    std::vector<int> found;
    for (const int thread : numbers_in(fmt::format("/proc/{}/task", pid))) {
        const auto text = read_proc(pid, fmt::format("task/{}/children", thread));
        Fields list(text ? std::string_view(*text) : std::string_view());
        while (const auto child = list.number()) found.push_back(static_cast<int>(child));
    }
    return found;
}

std::vector<int> LinuxProcessTable::children() const { return children_of(::getpid()); }

std::vector<std::string> LinuxProcessTable::argv(int pid, const ProcessInfo& info) const {
    // Empty for an instant within exec, when whoever started the process already goes on.
    std::string command;
    for (int tries = 0; tries < 10 && command.empty() && info.state != 'Z'; ++tries) {
        if (tries > 0) std::this_thread::sleep_for(Milliseconds(1));
        const auto read = read_proc(pid, "cmdline");
        if (!read) break;
        command = *read;
    }
    std::vector<std::string> argv;
    for (size_t begin = 0; begin < command.size();) {
        const size_t end = std::min(command.find('\0', begin), command.size());
        argv.push_back(command.substr(begin, end - begin));
        begin = end + 1;
    }
    // A process that overwrote a longer command line leaves empty words at its end.
    while (!argv.empty() && argv.back().empty()) argv.pop_back();
    if (argv.empty()) argv.push_back("[" + info.name + "]");
    return argv;
}

std::string LinuxProcessTable::environment_value(int pid, std::string_view name) const {
    const std::string block = read_proc(pid, "environ").value_or("");
    std::string_view rest = block;
    while (!rest.empty()) {
        const auto entry = rest.substr(0, rest.find('\0'));
        if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
            return std::string(entry.substr(name.size() + 1));
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    }
    return {};
}

std::optional<std::uint64_t> LinuxProcessTable::proportional_bytes(int pid) const {
    constexpr std::string_view kName = "\nPss:";
    const auto text = read_proc(pid, "smaps_rollup");
    const size_t at = text ? text->find(kName) : std::string::npos;
    if (at == std::string::npos) return std::nullopt;
    const auto kib = Fields(std::string_view(*text).substr(at + kName.size())).number();
    return static_cast<std::uint64_t>(kib) * 1024;
}

void LinuxProcessTable::tag_leader(int pid, std::string_view run) {
    rlimit limit{};
    if (::prlimit(pid, RLIMIT_LOCKS, nullptr, &limit) != 0) return;
    limit.rlim_cur = run_hash(run) << kPidBits | static_cast<rlim_t>(pid);
    ::prlimit(pid, RLIMIT_LOCKS, &limit, nullptr);
}

JobTag LinuxProcessTable::tag_of(int pid) const {
    constexpr std::string_view kName = "Max file locks";
    const std::string limits = read_proc(pid, "limits").value_or("");
    const size_t at = limits.find(kName);
    if (at == std::string::npos) return {};
    const auto mark = static_cast<std::uint64_t>(
        Fields(std::string_view(limits).substr(at + kName.size())).number());
    return {mark >> kPidBits, static_cast<int>(mark & ((1u << kPidBits) - 1))};
}

bool LinuxProcessTable::adopt_orphans() { return ::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0; }

void LinuxProcessTable::signal(int pid, std::uint64_t start, int signal) {
    // The descriptor refers to the process that has the pid now; its start proves that it is the
    // right one.
    const Fd process = open_pidfd(pid);
    if (!process.valid()) return;
    const auto info = find(pid);
    if (info && info->start == start)
        ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

// Counts the whole machine, including control groups: the path of our own group's counter differs
// between hosts.
std::uint64_t LinuxProcessTable::memory_kills() const {
    std::ifstream file("/proc/vmstat");
    std::uint64_t count = 0;
    for (std::string name; file >> name >> count;)
        if (name == "oom_kill") return count;
    return 0;
}

std::uint64_t LinuxProcessTable::memory_limit() const {
    auto limit = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                 static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    for (const char* path : {"/sys/fs/cgroup/memory.max",  // "max" is no number
                             "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::uint64_t bytes = 0;
        if (std::ifstream(path) >> bytes) limit = std::min(limit, bytes);
    }
    return limit;
}

ProcessTable& process_table() {
    static LinuxProcessTable table;
    return table;
}

void close_from_on_exec(int first) {
    ::syscall(SYS_close_range, static_cast<unsigned>(first), ~0u, CLOSE_RANGE_CLOEXEC);
}

}  // namespace compat::exec
