#include "runner/display/time_left.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace compat::display {

TimeLeft::TimeLeft(const std::vector<std::string>& modules,
                   const std::map<std::string, double>& before, int parallel)
    : parallel_(std::max(1, parallel)) {
    for (const auto& module : modules) {
        const auto known = before.find(module);
        const Seconds seconds = known == before.end() ? Seconds{} : Seconds(known->second);
        if (open_.emplace(module, seconds).second) waits(seconds);
    }
}

void TimeLeft::waits(const Seconds& before) {
    if (!before) {
        ++waiting_unknown_;
        return;
    }
    waiting_.insert(*before);
    waiting_s_ += *before;
}

void TimeLeft::waits_no_more(const Seconds& before) {
    if (!before) {
        --waiting_unknown_;
        return;
    }
    waiting_.erase(waiting_.find(*before));
    waiting_s_ -= *before;
}

void TimeLeft::started(const std::string& module, SteadyTime at) {
    const auto known = open_.find(module);
    if (known != open_.end() && running_.emplace(module, at).second) waits_no_more(known->second);
}

void TimeLeft::stopped(const std::string& module) {
    if (running_.erase(module) > 0) waits(open_.at(module));
}

void TimeLeft::done(const std::string& module, double seconds) {
    const auto known = open_.find(module);
    if (known == open_.end()) return;
    if (running_.erase(module) == 0) waits_no_more(known->second);
    open_.erase(known);
    finished_s_ += seconds;
    ++finished_;
}

std::optional<double> TimeLeft::at(SteadyTime now) const {
    double known_s = finished_s_ + waiting_s_;
    std::size_t known = finished_ + waiting_.size();
    for (const auto& [module, since] : running_)
        if (const Seconds& before = open_.at(module)) {
            known_s += *before;
            ++known;
        }
    if (known == 0) return std::nullopt;
    const double mean = known_s / static_cast<double>(known);
    double sum = waiting_s_ + mean * static_cast<double>(waiting_unknown_);
    double longest = waiting_unknown_ > 0 ? mean : 0;
    if (!waiting_.empty()) longest = std::max(longest, *waiting_.rbegin());
    for (const auto& [module, since] : running_) {
        const double age = std::chrono::duration<double>(now - since).count();
        const double left = std::max(0.0, open_.at(module).value_or(mean) - age);
        sum += left;
        longest = std::max(longest, left);
    }
    return std::max(longest, sum / parallel_);
}

std::string format_time_left(std::optional<double> seconds) {
    constexpr double kMinute = 60;
    if (!seconds) return {};
    if (*seconds <= 0) return "finishing";  // each module has run as long as the last time
    const double whole = std::ceil(*seconds);
    return fmt::format("about {} left",
                       whole < kMinute ? fmt::format("{:.0f}s", whole)
                                       : format_duration(std::chrono::duration<double>(whole)));
}

}  // namespace compat::display
