// DeviceLog: what the library did in this process, in order: moves of tensors, choices of devices
// and dtypes, recoveries and errors. It keeps the last events in memory and is off until it is
// enabled; then an event costs one test of a flag. Safe to use from any thread. No torch header.
// Not for what user code does with devices: the shim's record has that.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::devices {

enum class LogKind : unsigned char { move, choice, recovery, error };
inline constexpr std::array<std::string_view, 4> kLogKinds{"move", "choice", "recovery", "error"};

struct LogEvent {
    std::int64_t number = 0;   // from 1, in order; set by the log
    double time = 0;           // seconds since 1970; set by the log
    std::uint64_t thread = 0;  // from 1, in the order of their first events; set by the log
    LogKind kind = LogKind::move;
    std::string what;    // "ensure_device", "halve_batch to 8", the error's first line
    std::string device;  // where it ended; of an error, where it happened; empty: unknown
    std::string from;    // where it began; empty: nowhere
    std::string why;
    std::string error_class, rule;      // of an error and of its recovery
    std::optional<std::int64_t> bytes;  // moved or released
    double seconds = 0;                 // that it took
    // For an error: the numbers of its thread's events since that thread's previous error.
    std::vector<std::int64_t> preceded_by;
};

class DeviceLog {
  public:
    static constexpr std::size_t kCapacity = 1000;
    static constexpr std::size_t kTextBytes = 500;  // of each text of an event
    static constexpr std::size_t kPreceding = 16;   // events that an error names, the last ones

    // The one of this process.
    [[nodiscard]] static DeviceLog& instance();

    // Keeps the last `capacity` events. Throws std::invalid_argument for 0 or over a million.
    void enable(std::size_t capacity = kCapacity);
    void disable() { enabled_.store(false, std::memory_order_relaxed); }
    [[nodiscard]] bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
    // Forgets events and counters.
    void clear();

    // Returns the event's number; 0 if the log is off.
    std::int64_t add(LogEvent event);

    struct Counters {
        std::array<std::int64_t, kLogKinds.size()> events{};
        std::int64_t bytes_moved = 0;
        double seconds_moving = 0;
        std::int64_t dropped = 0;  // events that no longer fit
    };
    [[nodiscard]] Counters counters() const;
    [[nodiscard]] std::vector<LogEvent> events() const;
    // The kept events that an error names.
    [[nodiscard]] std::vector<LogEvent> before(const LogEvent& error) const;
    // JSON lines (docs/reference/file-formats.md): a header, then the events.
    [[nodiscard]] std::string json_lines() const;

  private:
    void add_preceding(LogEvent& error) const;

    std::atomic<bool> enabled_{false};
    mutable std::mutex mutex_;
    std::size_t capacity_ = kCapacity;
    std::deque<LogEvent> events_;
    std::int64_t last_ = 0;
    Counters counters_;
};

}  // namespace compat::devices
