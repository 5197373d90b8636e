// Estimates the remaining time of a run from the last durations of its modules. Keeps sums, so that
// the cost of a query does not grow with the modules. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runner/base/clock.h"

namespace compat::display {

class TimeLeft {
  public:
    // `before`: known durations of the last run, in seconds.
    TimeLeft(const std::vector<std::string>& modules, const std::map<std::string, double>& before,
             int parallel);

    void started(const std::string& module, SteadyTime at);
    // Another attempt will follow.
    void stopped(const std::string& module);
    void done(const std::string& module, double seconds);

    // Modules without a known duration count as the
    // mean of the others; nothing: no duration is
    // known. Never less than the longest module needs.
    [[nodiscard]] std::optional<double> at(SteadyTime now) const;

  private:
    using Seconds = std::optional<double>;
    void waits(const Seconds& before);
    void waits_no_more(const Seconds& before);

    int parallel_;
    std::map<std::string, Seconds> open_;  // modules that are not done
    std::map<std::string, SteadyTime> running_;
    std::multiset<double> waiting_;  // durations of modules that are neither running nor done
    double waiting_s_ = 0;
    std::size_t waiting_unknown_ = 0;
    double finished_s_ = 0;
    std::size_t finished_ = 0;
};

// "about 12s left", "finishing"; empty: unknown.
[[nodiscard]] std::string format_time_left(std::optional<double> seconds);

}  // namespace compat::display
