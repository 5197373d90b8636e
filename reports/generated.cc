#include "reports/generated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "parsers/diagnosis/diagnose.h"

namespace compat::reports {

namespace {

constexpr std::size_t kNamed = 2;  // of weights, and of data
constexpr std::string_view kModels = "models/", kDatasets = "datasets/";

// "org/name" of "models/org/name"; an address stays whole.
std::string_view bare_name(std::string_view name) {
    return name.find("://") == name.npos ? name.substr(name.find('/') + 1) : name;
}

std::string listed(const std::vector<std::string>& names) {
    if (names.size() <= kNamed) return fmt::format("{}", fmt::join(names, " and "));
    return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kNamed, ", "),
                       names.size() - kNamed);
}

}  // namespace

std::string describe_names(const parsers::HubNames& use) {
    std::vector<std::string> names;
    for (const std::string& name : use.names)
        names.push_back(fmt::format("{}{}", name.starts_with(kDatasets) ? "the dataset " : "",
                                    bare_name(name)));
    std::string text = fmt::format("{}", fmt::join(names, ", "));
    if (const auto more = use.count - static_cast<std::int64_t>(names.size()); more > 0)
        text += fmt::format(" and {} more", more);
    return text;
}

std::string describe_need(const parsers::HubNames& use) {
    std::vector<std::string> weights, data;
    for (const std::string& name : use.names)
        (name.starts_with(kModels) ? weights : data).emplace_back(bare_name(name));
    std::string text = "needs ";
    if (!weights.empty()) text += "the real weights of " + listed(weights);
    if (!weights.empty() && !data.empty()) text += " and ";
    if (!data.empty()) text += "the real data of " + listed(data);
    return text;
}

std::string describe_lack(const parsers::HubNames& missing) {
    return fmt::format("asked for {}, which the hub could not give", describe_names(missing));
}

bool blames_generated(const std::string& rule) {
    return parsers::Rules::shipped().cause_without_generated(rule).has_value();
}

}  // namespace compat::reports
