// Things that a run's tests got from its local hub, for the run's record and reports. Not here: the
// hub (runner/hub), and which test used what (the attempts' hub records).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace compat {

// A repository or an address, with a reason.
struct HubName {
    std::string name, why;

    friend bool operator==(const HubName&, const HubName&) = default;
};

// The most names of a list; the counts have all.
inline constexpr std::size_t kNamedOfHub = 200;

struct HubUse {
    std::int64_t requests = 0, bytes_fetched = 0;
    std::int64_t served = 0, generated = 0, missing = 0;  // repositories and addresses
    std::vector<std::string> generated_names{};
    std::vector<HubName> missing_names{};
    std::vector<HubName> problems{};

    friend bool operator==(const HubUse&, const HubUse&) = default;
};

// Adds that of another part of the run: what both had counts twice, and is named once.
inline void add_use(HubUse& to, const HubUse& more) {
    to.requests += more.requests;
    to.bytes_fetched += more.bytes_fetched;
    to.served += more.served;
    to.generated += more.generated;
    to.missing += more.missing;
    const auto add = [](auto& names, const auto& others) {
        for (const auto& other : others)
            if (names.size() < kNamedOfHub && std::ranges::find(names, other) == names.end())
                names.push_back(other);
    };
    add(to.generated_names, more.generated_names);
    add(to.missing_names, more.missing_names);
    add(to.problems, more.problems);
}

// For nlohmann_json, which this library does not know.
template <class Json>
void to_json(Json& json, const HubName& name) {
    json = Json{{"name", name.name}, {"why", name.why}};
}
template <class Json>
void from_json(const Json& json, HubName& name) {
    json.at("name").get_to(name.name);
    json.at("why").get_to(name.why);
}
template <class Json>
void to_json(Json& json, const HubUse& use) {
    json = Json{{"requests", use.requests},
                {"bytes_fetched", use.bytes_fetched},
                {"served", use.served},
                {"generated", use.generated},
                {"missing", use.missing},
                {"generated_names", use.generated_names},
                {"missing_names", use.missing_names},
                {"problems", use.problems}};
}
template <class Json>
void from_json(const Json& json, HubUse& use) {
    json.at("requests").get_to(use.requests);
    json.at("bytes_fetched").get_to(use.bytes_fetched);
    json.at("served").get_to(use.served);
    json.at("generated").get_to(use.generated);
    json.at("missing").get_to(use.missing);
    json.at("generated_names").get_to(use.generated_names);
    json.at("missing_names").get_to(use.missing_names);
    json.at("problems").get_to(use.problems);
}

}  // namespace compat
