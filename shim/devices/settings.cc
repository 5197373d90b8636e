#include "devices/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace compat::devices {
namespace {

using namespace std::string_view_literals;

// Whether `value` is one of `words`, which are separated by ", ".
bool is_among(std::string_view value, std::string_view words) {
    while (!words.empty()) {
        const auto end = std::min(words.find(", "sv), words.size());
        if (words.substr(0, end) == value) return true;
        words.remove_prefix(std::min(end + 2, words.size()));
    }
    return false;
}

bool is_index(std::string_view text) {
    return !text.empty() && text.size() <= 3 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_device(std::string_view value) {
    constexpr auto kWords = kDeviceValues.substr(0, kDeviceValues.find(", or "));
    const auto type = type_of_device(value);
    if (!is_among(type, kWords)) return false;
    return type == value || (type != "auto"sv && is_index(value.substr(type.size() + 1)));
}

std::optional<bool> switch_of(std::string_view value) {
    if (!is_among(value, kOnOffValues)) return std::nullopt;
    return value == "on"sv || value == "true"sv || value == "1"sv;
}

std::optional<double> amount_of(const std::string& value) {
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !std::isfinite(number) || number < 0) return std::nullopt;
    return number;
}

std::optional<double> fraction_of(const std::string& value) {
    const auto number = amount_of(value);
    return number && *number > 0 && *number <= 1 ? number : std::nullopt;
}

std::optional<std::int64_t> positive_of(std::string_view value) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
    if (number < 1 || number > 65536) return std::nullopt;
    return number;
}

bool is_allowed(const SettingRow& row, const std::string& value) {
    switch (row.kind) {
        case ValueKind::device:
            return is_device(value);
        case ValueKind::word:
            return is_among(value, row.allowed);
        case ValueKind::on_off:
            return switch_of(value).has_value();
        case ValueKind::fraction:
            return fraction_of(value).has_value();
        case ValueKind::positive:
            return positive_of(value).has_value();
        case ValueKind::amount:
            return amount_of(value).has_value();
    }
    return false;
}

struct Value {
    std::string text, origin;
};

std::string names_of(std::string_view SettingRow::*column) {
    std::string names;
    for (const SettingRow& row : kSettings)
        if (!(row.*column).empty()) names.append(names.empty() ? "" : ", ").append(row.*column);
    return names;
}

void refuse_unknown(const SettingValues& values, std::string_view SettingRow::*column,
                    std::string_view where) {
    for (const auto& [name, value] : values)
        if (std::none_of(kSettings.begin(), kSettings.end(),
                         [&](const SettingRow& row) { return row.*column == name; }))
            throw SettingError(std::string(where) + ": there is no setting \"" + name +
                               "\"; there are: " + names_of(column));
}

Value value_of(const SettingRow& row, const SettingValues& arguments, const SettingValues& file,
               const Lookup& environment) {
    Value value{std::string(row.fallback), "default"};
    std::string where;
    const auto take = [&](const std::string& text, std::string origin, std::string place) {
        value = {text, std::move(origin)};
        where = std::move(place);
    };
    if (const auto found = arguments.find(row.name); found != arguments.end()) {
        take(found->second, "argument", "the argument " + std::string(row.name));
    } else if (const auto variable =
                   row.variable.empty() ? std::nullopt : environment(row.variable);
               variable && !variable->empty()) {
        take(*variable, std::string(row.variable), std::string(row.variable));
    } else if (const auto key = file.find(row.file_key);
               !row.file_key.empty() && key != file.end()) {
        take(key->second, "file", "the settings file, key " + std::string(row.file_key));
    }
    if (!is_allowed(row, value.text))
        throw SettingError(where + ": \"" + value.text +
                           "\" is not allowed; use: " + std::string(row.allowed));
    return value;
}

}  // namespace

std::string_view type_of_device(std::string_view device) {
    return device.substr(0, device.find(':'));
}

bool is_file_key(std::string_view key) {
    return !key.empty() && std::any_of(kSettings.begin(), kSettings.end(),
                                       [&](const SettingRow& row) { return row.file_key == key; });
}

std::optional<std::string> environment_variable(std::string_view name) {
    const char* value = std::getenv(std::string(name).c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
}

Settings resolve_settings(const SettingValues& arguments, const SettingValues& file,
                          const Lookup& environment) {
    refuse_unknown(arguments, &SettingRow::name, "the arguments");
    refuse_unknown(file, &SettingRow::file_key, "the settings file");
    Settings settings;
    SettingValues text;
    for (const SettingRow& row : kSettings) {
        Value value = value_of(row, arguments, file, environment);
        settings.origin.emplace(row.name, std::move(value.origin));
        text.emplace(row.name, std::move(value.text));
    }
    settings.device = text["device"];
    settings.precision = text["precision"];
    settings.recovery = *switch_of(text["recovery"]);
    settings.memory_fraction = *fraction_of(text["memory_fraction"]);
    settings.prefer = text["prefer"];
    settings.allow_tpu = *switch_of(text["allow_tpu"]);
    settings.tpu_batch_factor = *positive_of(text["tpu_batch_factor"]);
    settings.cost_cpu = *amount_of(text["cost_cpu"]);
    settings.cost_gpu = *amount_of(text["cost_gpu"]);
    settings.cost_tpu = *amount_of(text["cost_tpu"]);
    settings.enable_optimizations = *switch_of(text["enable_optimizations"]);
    return settings;
}

}  // namespace compat::devices
