#include "runtime/host_memory.h"

#include <unistd.h>
#ifdef __APPLE__
#include <mach/mach.h>
#else
#include <fstream>
#include <string>
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
#else
std::int64_t free_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    for (std::int64_t kibibytes = 0; file >> name >> kibibytes;) {
        if (name == "MemAvailable:") return kibibytes * 1024;
        std::getline(file, unit);
    }
    return pages(sysconf(_SC_AVPHYS_PAGES));
}
#endif

}  // namespace

HostMemory host_memory() { return {pages(sysconf(_SC_PHYS_PAGES)), free_bytes()}; }

}  // namespace compat::shim
