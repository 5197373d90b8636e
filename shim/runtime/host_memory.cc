#include "runtime/host_memory.h"

#include <unistd.h>
#ifdef __APPLE__
#include <mach/mach.h>
#else
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#endif

namespace compat::shim {
namespace {

std::int64_t pages(long count) { return static_cast<std::int64_t>(count) * sysconf(_SC_PAGESIZE); }

#ifdef __APPLE__
// Unused pages, and those that the system would give up first.
std::int64_t free_bytes() {
    vm_statistics64_data_t counts{};
    mach_msg_type_number_t size = HOST_VM_INFO64_COUNT;
    if (host_statistics64(mach_host_self(), HOST_VM_INFO64,
                          reinterpret_cast<host_info64_t>(&counts), &size) != KERN_SUCCESS)
        return 0;
    return pages(static_cast<long>(counts.free_count) + static_cast<long>(counts.inactive_count));
}
HostMemory machine() { return {pages(sysconf(_SC_PHYS_PAGES)), free_bytes()}; }

HostMemory within_groups(HostMemory memory) { return memory; }
#else
// The value after `name` in a file of names and values; the first value where there is no name.
std::optional<std::int64_t> figure(const std::filesystem::path& path, std::string_view name = {}) {
    std::ifstream file(path);
    std::int64_t value = 0;
    for (std::string word; name.empty() || file >> word; std::getline(file, word))
        if (name.empty() || word == name)
            return file >> value ? std::optional(value) : std::nullopt;
    return std::nullopt;
}

HostMemory machine() {
    const auto available = figure("/proc/meminfo", "MemAvailable:");
    return {pages(sysconf(_SC_PHYS_PAGES)),
            available ? *available * 1024 : pages(sysconf(_SC_AVPHYS_PAGES))};
}

// Where a cgroup has its limit and its use; caches of files can be released.
struct Group {
    const char *mount, *controller, *limit, *used, *caches;
};
constexpr Group kGroups[] = {
    {"/sys/fs/cgroup", "", "memory.max", "memory.current", "inactive_file"},
    {"/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file"},
};

HostMemory within_group(HostMemory memory, const Group& group, std::filesystem::path path) {
    const std::filesystem::path mount(group.mount);
    for (path = mount / path.relative_path();; path = path.parent_path()) {
        if (const auto limit = figure(path / group.limit)) {
            const std::int64_t used = figure(path / group.used).value_or(0) -
                                      figure(path / "memory.stat", group.caches).value_or(0);
            memory.total = std::min(memory.total, *limit);
            memory.free = std::clamp(*limit - used, std::int64_t{0}, memory.free);
        }
        if (path == mount || path == path.parent_path()) return memory;
    }
}

// Containers and services have limits below the machine's, those of the groups above included.
HostMemory within_groups(HostMemory memory) {
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        for (const Group& group : kGroups)
            if (controllers == group.controller)
                memory = within_group(memory, group, line.substr(second + 1));
    }
    return memory;
}
#endif

}  // namespace

HostMemory host_memory() { return within_groups(machine()); }

}  // namespace compat::shim
