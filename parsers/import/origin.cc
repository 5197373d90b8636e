#include "parsers/import/origin.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "parsers/text.h"
#include "runner/base/clock.h"
#include "runner/base/text.h"

namespace compat::parsers {

namespace {

enum class Fact { job, shard, attempt };

// By the letters and digits of the name, in lower case.
struct KnownProperty {
    std::string_view name;
    Fact fact;
};
constexpr std::array kKnownProperties{
    KnownProperty{"job", Fact::job},
    KnownProperty{"jobname", Fact::job},
    KnownProperty{"cijob", Fact::job},
    KnownProperty{"cijobname", Fact::job},
    KnownProperty{"githubjob", Fact::job},
    KnownProperty{"circlejob", Fact::job},
    KnownProperty{"buildkitelabel", Fact::job},
    KnownProperty{"toxenv", Fact::job},
    KnownProperty{"toxenvname", Fact::job},
    KnownProperty{"noxsession", Fact::job},
    KnownProperty{"shard", Fact::shard},
    KnownProperty{"shardid", Fact::shard},
    KnownProperty{"shardindex", Fact::shard},
    KnownProperty{"shardnumber", Fact::shard},
    KnownProperty{"testshardindex", Fact::shard},
    KnownProperty{"gtestshardindex", Fact::shard},
    KnownProperty{"cinodeindex", Fact::shard},
    KnownProperty{"circlenodeindex", Fact::shard},
    KnownProperty{"buildkiteparalleljob", Fact::shard},
    KnownProperty{"attempt", Fact::attempt},
    KnownProperty{"attemptnumber", Fact::attempt},
    KnownProperty{"runattempt", Fact::attempt},
    KnownProperty{"testattempt", Fact::attempt},
    KnownProperty{"githubrunattempt", Fact::attempt},
    KnownProperty{"buildkiteretrycount", Fact::attempt},
};

}  // namespace

void take_property(Origin& origin, std::string_view name, std::string_view value) {
    std::string letters;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto* const known =
        std::ranges::find(kKnownProperties, std::string_view(letters), &KnownProperty::name);
    if (known == kKnownProperties.end() || value.empty()) return;
    if (known->fact == Fact::attempt)
        origin.attempt = number_of(value);
    else
        (known->fact == Fact::job ? origin.job : origin.shard) = printable(value);
}

void take_times(Origin& origin, std::string_view timestamp, double seconds) {
    const auto began = parse_iso8601(timestamp);
    if (!began) return;
    const std::size_t zone = timestamp.find_first_of("Zz+-", timestamp.find(':'));
    origin.zoned = zone != timestamp.npos;
    const std::int64_t started = began->time_since_epoch().count();
    const std::int64_t ended = started + std::llround(seconds * 1000);
    origin.started_ms = std::min(origin.started_ms.value_or(started), started);
    origin.ended_ms = std::max(origin.ended_ms.value_or(ended), ended);
}

}  // namespace compat::parsers
