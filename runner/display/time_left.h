// How long a run will still take, from what its modules took before. Keeps sums, so that asking
// costs no more for many modules than for few. Pure.
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
    // `before`: seconds that modules took in the last run, of those of which it is known.
    TimeLeft(const std::vector<std::string>& modules, const std::map<std::string, double>& before,
             int parallel);

    void started(const std::string& module, SteadyTime at);
    // Another attempt will follow.
    void stopped(const std::string& module);
    void done(const std::string& module, double seconds);

    // A module of which nothing is known is taken for the mean of those of which something is;
    // nothing is said where there is none. With `parallel` at a time, never less than the longest
    // one needs.
    [[nodiscard]] std::optional<double> at(SteadyTime now) const;

  private:
    using Seconds = std::optional<double>;
    void waits(const Seconds& before);
    void waits_no_more(const Seconds& before);

    int parallel_;
    std::map<std::string, Seconds> open_;  // modules that are not done
    std::map<std::string, SteadyTime> running_;
    std::multiset<double> waiting_;  // neither running nor done; of the others only their number
    double waiting_s_ = 0;
    std::size_t waiting_unknown_ = 0;
    double finished_s_ = 0;
    std::size_t finished_ = 0;
};

// "about 12s left", "finishing"; empty where nothing is known.
[[nodiscard]] std::string left_words(std::optional<double> seconds);

}  // namespace compat::display
