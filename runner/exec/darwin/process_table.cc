// process_table.h on macOS: libproc and sysctl.
#include "runner/exec/process_table.h"

#include <fcntl.h>
#include <libproc.h>
#include <sys/proc.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <unordered_map>

#include "runner/exec/darwin/process_arguments.h"

namespace compat::exec {

namespace {

// From xnu's bsd/sys/proc_info_private.h, where the size is called API. The ids are never reused
// and survive exec; a parent's id stays when its child gets another parent.
constexpr int kUniqueIdsFlavor = 17;  // PROC_PIDUNIQIDENTIFIERINFO
struct UniqueIds {
    std::uint8_t uuid[16];
    std::uint64_t own, parent;
    std::int32_t versions[2];
    std::uint64_t reserved[2];
};
static_assert(sizeof(UniqueIds) == 56);

constexpr std::uint64_t kZombiesToo = 1;  // the argument of proc_pidinfo

template <class Info>
std::optional<Info> info_of(int pid, int flavor) {
    Info info{};
    constexpr int kSize = static_cast<int>(sizeof info);
    if (::proc_pidinfo(pid, flavor, kZombiesToo, &info, kSize) != kSize) return std::nullopt;
    return info;
}

std::optional<rusage_info_v0> usage_of(int pid) {
    rusage_info_v0 usage{};
    if (::proc_pid_rusage(pid, RUSAGE_INFO_V0, reinterpret_cast<rusage_info_t*>(&usage)) != 0)
        return std::nullopt;
    return usage;
}

// The list may grow between the two calls.
std::vector<int> list_pids(std::uint32_t type, std::uint32_t argument) {
    constexpr size_t kSpare = 64;
    while (true) {
        const int bytes = ::proc_listpids(type, argument, nullptr, 0);
        if (bytes <= 0) return {};
        std::vector<int> pids(static_cast<size_t>(bytes) / sizeof(int) + kSpare);
        const int room = static_cast<int>(pids.size() * sizeof(int));
        const int got = ::proc_listpids(type, argument, pids.data(), room);
        if (got >= room) continue;
        pids.resize(got > 0 ? static_cast<size_t>(got) / sizeof(int) : 0);
        return pids;
    }
}

// Readable for our own user's processes, and for all as root. The environment of a program that
// System Integrity Protection restricts is left out.
ProcessArguments arguments_of(int pid) {
    std::array<int, 3> name{CTL_KERN, KERN_PROCARGS2, pid};
    size_t size = 0;
    if (::sysctl(name.data(), name.size(), nullptr, &size, nullptr, 0) != 0) return {};
    std::string block(size, '\0');
    if (::sysctl(name.data(), name.size(), block.data(), &size, nullptr, 0) != 0) return {};
    block.resize(size);
    return parse_process_arguments(block);
}

char state_of(const proc_bsdinfo& info) {
    if (info.pbi_flags & PROC_FLAG_INEXIT) return 'Z';
    switch (info.pbi_status) {
        case SIDL:
            return 'I';
        case SSLEEP:
            return 'S';
        case SSTOP:
            return 'T';
        case SZOMB:
            return 'Z';
        default:
            return 'R';
    }
}

class DarwinProcessTable final : public ProcessTable {
  public:
    [[nodiscard]] std::vector<int> pids() const override { return list_pids(PROC_ALL_PIDS, 0); }
    [[nodiscard]] std::optional<ProcessInfo> find(int pid) const override;
    [[nodiscard]] std::vector<int> children() const override {
        return list_pids(PROC_PPID_ONLY, static_cast<std::uint32_t>(::getpid()));
    }
    [[nodiscard]] bool is_dying(int pid) const override;
    [[nodiscard]] std::optional<std::uint64_t> proportional_bytes(int pid) const override;
    [[nodiscard]] std::vector<std::string> argv(int pid, const ProcessInfo& info) const override;
    [[nodiscard]] std::string environment_value(int pid, std::string_view name) const override;
    void tag_leader(int pid, std::string_view run) override;
    [[nodiscard]] JobTag tag_of(int pid) const override;
    bool adopt_orphans() override { return false; }
    void signal(int pid, std::uint64_t start, int signal) override;
    [[nodiscard]] std::uint64_t memory_kills() const override { return 0; }
    [[nodiscard]] std::uint64_t memory_limit() const override;

  private:
    // By unique id. A tag is found along the chain of parents, which every scan adds to: it breaks
    // at a process that no scan has seen.
    mutable std::unordered_map<std::uint64_t, std::uint64_t> parents_;
    std::unordered_map<std::uint64_t, JobTag> tags_;
};

// Finds our own user's processes, and all as root. A job has no others, unless it has sudo.
std::optional<ProcessInfo> DarwinProcessTable::find(int pid) const {
    constexpr std::uint64_t kMicroseconds = 1'000'000;
    const auto info = info_of<proc_bsdinfo>(pid, PROC_PIDTBSDINFO);
    if (!info) return std::nullopt;
    ProcessInfo process;
    process.name = info->pbi_name[0] ? info->pbi_name : info->pbi_comm;
    process.state = state_of(*info);
    process.parent = static_cast<int>(info->pbi_ppid);
    process.group = static_cast<int>(info->pbi_pgid);
    process.session = std::max(0, static_cast<int>(::getsid(pid)));  // a zombie has none
    process.start = info->pbi_start_tvsec * kMicroseconds + info->pbi_start_tvusec;
    process.ended = info->pbi_status == SZOMB;
    if (const auto usage = usage_of(pid); usage && !process.ended)
        process.rss_bytes = usage->ri_resident_size;
    if (const auto ids = info_of<UniqueIds>(pid, kUniqueIdsFlavor))
        parents_[ids->own] = ids->parent;
    return process;
}

// A pending SIGKILL does not show.
bool DarwinProcessTable::is_dying(int pid) const {
    const auto info = info_of<proc_bsdinfo>(pid, PROC_PIDTBSDINFO);
    return !info || info->pbi_status == SZOMB || (info->pbi_flags & PROC_FLAG_INEXIT) != 0;
}

// The physical footprint: what the system charges to this process alone.
std::optional<std::uint64_t> DarwinProcessTable::proportional_bytes(int pid) const {
    const auto usage = usage_of(pid);
    if (!usage) return std::nullopt;
    return usage->ri_phys_footprint;
}

std::vector<std::string> DarwinProcessTable::argv(int pid, const ProcessInfo& info) const {
    auto arguments = arguments_of(pid);
    if (arguments.argv.empty()) return {"[" + info.name + "]"};
    return std::move(arguments.argv);
}

std::string DarwinProcessTable::environment_value(int pid, std::string_view name) const {
    for (const std::string& entry : arguments_of(pid).environment)
        if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
            return entry.substr(name.size() + 1);
    return {};
}

void DarwinProcessTable::tag_leader(int pid, std::string_view run) {
    if (pid == ::getpid()) return;  // between fork and exec: the parent does it
    if (const auto ids = info_of<UniqueIds>(pid, kUniqueIdsFlavor))
        tags_[ids->own] = {run_hash(run), pid};
}

JobTag DarwinProcessTable::tag_of(int pid) const {
    constexpr int kMostAncestors = 1000;
    const auto ids = info_of<UniqueIds>(pid, kUniqueIdsFlavor);
    if (!ids) return {};
    std::uint64_t id = ids->own, parent = ids->parent;
    for (int n = 0; n < kMostAncestors; ++n) {
        if (const auto tag = tags_.find(id); tag != tags_.end()) return tag->second;
        id = parent;
        const auto known = parents_.find(id);
        // A tagged process need not have been scanned.
        parent = known == parents_.end() ? 0 : known->second;
        if (id == 0) break;
    }
    return {};
}

// Between the two calls the pid may be reused: macOS has no descriptor of a process.
void DarwinProcessTable::signal(int pid, std::uint64_t start, int signal) {
    const auto info = find(pid);
    if (info && info->start == start) ::kill(pid, signal);
}

std::uint64_t DarwinProcessTable::memory_limit() const {
    std::uint64_t bytes = 0;
    size_t size = sizeof bytes;
    return ::sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
}

}  // namespace

ProcessTable& process_table() {
    static DarwinProcessTable table;
    return table;
}

// Lists the open descriptors, since the highest possible one may be 10 million. Allocates nothing:
// it runs between fork and exec.
void close_from_on_exec(int first) {
    std::array<proc_fdinfo, 1024> open{};
    constexpr int kRoom = static_cast<int>(sizeof open);
    const int got = ::proc_pidinfo(::getpid(), PROC_PIDLISTFDS, 0, open.data(), kRoom);
    const auto close_later = [first](int fd) {
        if (fd >= first) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    };
    if (got > 0 && got < kRoom) {
        for (size_t i = 0; i < static_cast<size_t>(got) / sizeof open[0]; ++i)
            close_later(open[i].proc_fd);
    } else {
        for (int fd = first; fd < ::getdtablesize(); ++fd) close_later(fd);
    }
}

}  // namespace compat::exec
