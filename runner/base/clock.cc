#include "runner/base/clock.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <ctime>

namespace compat {

WallTime SystemClock::wall() const {
    return std::chrono::floor<Milliseconds>(std::chrono::system_clock::now());
}
SteadyTime SystemClock::steady() const { return std::chrono::steady_clock::now(); }

namespace {

// As far as years have four digits, which a damaged database need not keep to. Nanoseconds, which
// the system's clock counts in, end before.
std::tm date_of(WallTime time) {
    using std::chrono::seconds, std::chrono::sys_seconds;
    constexpr sys_seconds kFirst{seconds{-62167219200}}, kLast{seconds{253402300799}};
    const auto second = std::clamp(std::chrono::floor<seconds>(time), kFirst, kLast);
    return fmt::gmtime(static_cast<std::time_t>(second.time_since_epoch().count()));
}

}  // namespace

std::string iso8601(WallTime time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", date_of(time));
}
std::optional<WallTime> parse_iso8601(std::string_view text) {
    using namespace std::chrono;
    static const RE2 kTime(R"((\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,3})\d*)?)"
                           R"((?:Z|([+-])(\d\d):?(\d\d))?)");
    int year_of = 0, hour = 0, minute = 0, second = 0, offset_hours = 0, offset_minutes = 0;
    unsigned month_of = 0, day_of = 0;
    std::string fraction, sign, of_hours, of_minutes;
    if (!RE2::FullMatch(text, kTime, &year_of, &month_of, &day_of, &hour, &minute, &second,
                        &fraction, &sign, &of_hours, &of_minutes))
        return std::nullopt;
    const year_month_day date{year(year_of), month(month_of), day(day_of)};
    if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
    fraction.resize(3, '0');
    if (!sign.empty()) {
        offset_hours = std::stoi(of_hours);
        offset_minutes = std::stoi(of_minutes);
    }
    const auto offset = hours(offset_hours) + minutes(offset_minutes);
    return sys_days(date) + hours(hour) + minutes(minute) + seconds(second) +
           milliseconds(std::stoi(fraction)) - (sign == "-" ? -offset : offset);
}
std::string file_timestamp(WallTime time) {
    return fmt::format("{:%Y%m%d-%H%M%S}", date_of(time));
}
std::string format_duration(std::chrono::duration<double> duration) {
    const double s = duration.count();
    if (s < 60) return fmt::format("{:.1f}s", s);
    const long whole = static_cast<long>(s);
    if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
    return fmt::format("{}h {:02}m", whole / 3600, whole % 3600 / 60);
}

}  // namespace compat
