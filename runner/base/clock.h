// Injectable clock and text of times. Durations come from `steady`, dates from `wall`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace compat {

using Milliseconds = std::chrono::milliseconds;
using WallTime = std::chrono::sys_time<Milliseconds>;
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

class Clock {
  public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual WallTime wall() const = 0;
    [[nodiscard]] virtual SteadyTime steady() const = 0;
};

class SystemClock final : public Clock {
  public:
    [[nodiscard]] WallTime wall() const override;
    [[nodiscard]] SteadyTime steady() const override;
};

// "2026-11-21T02:15:30Z": UTC, whole seconds.
[[nodiscard]] std::string iso8601(WallTime time);
// The reverse, also with a fraction and an offset ("2026-11-21T02:15:30.25+01:00"). A time without
// either is taken for UTC. Empty where it is none.
[[nodiscard]] std::optional<WallTime> parse_iso8601(std::string_view text);
// "20261121-021530": UTC, for run ids.
[[nodiscard]] std::string file_timestamp(WallTime time);
// "0.8s", "12.3s", "4m 05s", "2h 03m": for people.
[[nodiscard]] std::string format_duration(std::chrono::duration<double> duration);

}  // namespace compat
