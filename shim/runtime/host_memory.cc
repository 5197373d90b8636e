#include "runtime/host_memory.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace compat::shim {
namespace {

std::int64_t pages(long count) { return static_cast<std::int64_t>(count) * sysconf(_SC_PAGESIZE); }

std::int64_t free_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    for (std::int64_t kibibytes = 0; file >> name >> kibibytes;) {
        if (name == "MemAvailable:") return kibibytes * 1024;
        std::getline(file, unit);
    }
#ifdef _SC_AVPHYS_PAGES
    return pages(sysconf(_SC_AVPHYS_PAGES));
#else
    return pages(sysconf(_SC_PHYS_PAGES));
#endif
}

}  // namespace

HostMemory host_memory() { return {pages(sysconf(_SC_PHYS_PAGES)), free_bytes()}; }

}  // namespace compat::shim
