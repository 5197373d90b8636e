#include "runner/exec/proc_stat.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <memory>

#include "runner/exec/fd.h"

namespace compat::exec {

namespace {

// Not base's read_file: the files of /proc are read by hundreds, and have no size.
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

// Processes, or threads, by the names of their folders.
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

// The n-th field of what follows the command's name; the first is the state.
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

}  // namespace

std::optional<ProcStat> proc_stat(int pid) {
    const auto text = read_proc(pid, "stat");
    if (!text) return std::nullopt;
    // proc(5): the name, which may hold anything, ends at the last ')'.
    const size_t open = text->find('('), close = text->rfind(')');
    if (open == std::string::npos || close == std::string::npos) return std::nullopt;
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    Fields fields(std::string_view(*text).substr(close + 1));
    const auto state = fields.next();
    if (state.empty()) return std::nullopt;
    ProcStat stat;
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
    // One whose first thread has left while others go on looks like a zombie, too.
    stat.ended = stat.state == 'X' || (stat.state == 'Z' && threads <= 1);
    return stat;
}

bool is_dying(int pid) {
    constexpr std::int64_t kExiting = 0x4;  // PF_EXITING
    // Each of its threads: the first may have left the others behind. Any fatal signal becomes a
    // SIGKILL of every thread as it is sent.
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

std::string state_in_words(char state) {
    struct Row {
        char state;
        const char* words;
    };
    static constexpr Row kStates[] = {
        {'D', "uninterruptible sleep"}, {'R', "running"}, {'S', "sleeping"}, {'T', "stopped"},
        {'t', "stopped by a debugger"}, {'Z', "zombie"},  {'I', "idle"},
    };
    for (const auto& row : kStates)
        if (row.state == state) return fmt::format("{} ({})", row.words, state);
    return {state};
}

bool descends_from(int pid, int ancestor) {
    while (pid > 0 && pid != ancestor) {
        const auto stat = proc_stat(pid);
        pid = stat ? stat->parent : 0;
    }
    return pid > 0;
}

std::vector<int> all_pids() { return numbers_in("/proc"); }

std::vector<std::string> argv_of(int pid, const ProcStat& stat) {
    std::vector<std::string> argv;
    const std::string command = read_proc(pid, "cmdline").value_or("");
    for (size_t begin = 0; begin < command.size();) {
        const size_t end = std::min(command.find('\0', begin), command.size());
        argv.push_back(command.substr(begin, end - begin));
        begin = end + 1;
    }
    // One that wrote its own into the room of a longer one ends in empty words.
    while (!argv.empty() && argv.back().empty()) argv.pop_back();
    if (argv.empty()) argv.push_back("[" + stat.name + "]");
    return argv;
}

std::string environment_value(int pid, std::string_view name) {
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

std::optional<std::uint64_t> proportional_bytes(int pid) {
    constexpr std::string_view kName = "\nPss:";
    const auto text = read_proc(pid, "smaps_rollup");
    const size_t at = text ? text->find(kName) : std::string::npos;
    if (at == std::string::npos) return std::nullopt;
    const auto kib = Fields(std::string_view(*text).substr(at + kName.size())).number();
    return static_cast<std::uint64_t>(kib) * 1024;
}

namespace {

// Of a mark: Linux gives no number of a process more bits. The sign bit stays clear.
constexpr int kPidBits = 22;

}  // namespace

std::uint64_t run_in_marks(std::string_view run) {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : run) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash >> (kPidBits + 1);
}

void mark_leader(int pid, std::string_view run) {
    rlimit limit{};
    if (::prlimit(pid, RLIMIT_LOCKS, nullptr, &limit) != 0) return;
    limit.rlim_cur = run_in_marks(run) << kPidBits | static_cast<rlim_t>(pid);
    ::prlimit(pid, RLIMIT_LOCKS, &limit, nullptr);
}

Mark mark_of(int pid) {
    constexpr std::string_view kName = "Max file locks";
    const std::string limits = read_proc(pid, "limits").value_or("");
    const size_t at = limits.find(kName);
    if (at == std::string::npos) return {};
    const auto mark = static_cast<std::uint64_t>(
        Fields(std::string_view(limits).substr(at + kName.size())).number());
    return {mark >> kPidBits, static_cast<int>(mark & ((1u << kPidBits) - 1))};
}

void signal_exactly(int pid, std::uint64_t start, int signal) {
    // The descriptor stands for whoever has the number now; if that one has the right start, it is
    // the one that is meant. pidfd_open has no wrapper in older C libraries.
    const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process.valid()) return;
    const auto stat = proc_stat(pid);
    if (stat && stat->start == start)
        ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

}  // namespace compat::exec
