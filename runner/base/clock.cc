#include "runner/base/clock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace compat {

WallTime SystemClock::wall() const {
    return std::chrono::floor<Milliseconds>(std::chrono::system_clock::now());
}
SteadyTime SystemClock::steady() const { return std::chrono::steady_clock::now(); }

std::string iso8601(WallTime time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}
std::string file_timestamp(WallTime time) {
    return fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}
std::string format_duration(std::chrono::duration<double> duration) {
    const double s = duration.count();
    if (s < 60) return fmt::format("{:.1f}s", s);
    const long whole = static_cast<long>(s);
    if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
    return fmt::format("{}h {:02}m", whole / 3600, whole % 3600 / 60);
}

}  // namespace compat
