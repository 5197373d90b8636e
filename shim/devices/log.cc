#include "devices/log.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "devices/json_text.h"

namespace compat::devices {
namespace {

constexpr std::size_t kLargestCapacity = 1'000'000;
constexpr int kLogFormat = 1;

// Not within a character of UTF-8.
void shorten(std::string& text) {
    if (text.size() <= DeviceLog::kTextBytes) return;
    std::size_t end = DeviceLog::kTextBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
}

// Numbered from 1: exact in every reader of JSON.
std::uint64_t this_thread() {
    static std::atomic<std::uint64_t> last{0};
    thread_local const std::uint64_t number = ++last;
    return number;
}

std::string decimal(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6f", number);
    return text;
}

std::string line_of(const LogEvent& event) {
    std::vector<std::string> preceding;
    for (const auto number : event.preceded_by) preceding.push_back(std::to_string(number));
    return "{\"number\": " + std::to_string(event.number) + ", \"time\": " + decimal(event.time) +
           ", \"thread\": " + std::to_string(event.thread) +
           ", \"kind\": " + json_string(kLogKinds[static_cast<std::size_t>(event.kind)]) +
           ", \"what\": " + json_string(event.what) + ", \"device\": " + or_null(event.device) +
           ", \"from\": " + or_null(event.from) + ", \"why\": " + or_null(event.why) +
           ", \"error_class\": " + or_null(event.error_class) +
           ", \"rule\": " + or_null(event.rule) + ", \"bytes\": " + or_null(event.bytes) +
           ", \"seconds\": " + decimal(event.seconds) + ", \"preceded_by\": [" + joined(preceding) +
           "]}\n";
}

}  // namespace

DeviceLog& DeviceLog::instance() {
    static auto* log = new DeviceLog;  // never destroyed: threads may outlive main
    return *log;
}

void DeviceLog::enable(std::size_t capacity) {
    if (capacity < 1 || capacity > kLargestCapacity)
        throw std::invalid_argument("capacity=" + std::to_string(capacity) +
                                    ": use a number from 1 to " + std::to_string(kLargestCapacity));
    const std::lock_guard lock(mutex_);
    capacity_ = capacity;
    for (; events_.size() > capacity_; ++counters_.dropped) events_.pop_front();
    enabled_.store(true, std::memory_order_relaxed);
}

void DeviceLog::clear() {
    const std::lock_guard lock(mutex_);
    events_.clear();
    counters_ = {};
}

void DeviceLog::add_preceding(LogEvent& error) const {
    for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
        if (event->thread != error.thread) continue;
        if (event->kind == LogKind::error || error.preceded_by.size() == kPreceding) break;
        error.preceded_by.push_back(event->number);
    }
    std::reverse(error.preceded_by.begin(), error.preceded_by.end());
}

std::int64_t DeviceLog::add(LogEvent event) {
    if (!enabled()) return 0;
    using Seconds = std::chrono::duration<double>;
    event.time = Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
    event.thread = this_thread();
    for (std::string* text : {&event.what, &event.device, &event.from, &event.why}) shorten(*text);
    const std::lock_guard lock(mutex_);
    event.number = ++last_;
    if (event.kind == LogKind::error) add_preceding(event);
    ++counters_.events[static_cast<std::size_t>(event.kind)];
    if (event.kind == LogKind::move) {
        counters_.bytes_moved += event.bytes.value_or(0);
        counters_.seconds_moving += event.seconds;
    }
    if (events_.size() == capacity_) {
        events_.pop_front();
        ++counters_.dropped;
    }
    events_.push_back(std::move(event));
    return last_;
}

DeviceLog::Counters DeviceLog::counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
}

std::vector<LogEvent> DeviceLog::events() const {
    const std::lock_guard lock(mutex_);
    return {events_.begin(), events_.end()};
}

std::vector<LogEvent> DeviceLog::before(const LogEvent& error) const {
    const auto& named = error.preceded_by;
    std::vector<LogEvent> found;
    for (LogEvent& event : events())
        if (std::find(named.begin(), named.end(), event.number) != named.end())
            found.push_back(std::move(event));
    return found;
}

std::string DeviceLog::json_lines() const {
    const std::lock_guard lock(mutex_);
    std::string out = "{\"format\": " + std::to_string(kLogFormat);
    for (std::size_t i = 0; i < kLogKinds.size(); ++i)
        out.append(", ").append(json_string(kLogKinds[i])) +=
            ": " + std::to_string(counters_.events[i]);
    out += ", \"bytes_moved\": " + std::to_string(counters_.bytes_moved) +
           ", \"seconds_moving\": " + decimal(counters_.seconds_moving) +
           ", \"dropped\": " + std::to_string(counters_.dropped) + "}\n";
    for (const LogEvent& event : events_) out += line_of(event);
    return out;
}

}  // namespace compat::devices
