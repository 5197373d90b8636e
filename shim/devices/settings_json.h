// Reads a settings file, for C++ programs that have nlohmann_json. Not part of the compiled
// library, which needs nothing but LibTorch.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "devices/settings.h"

namespace compat::devices {

// The keys of the JSON object in `path`, or under its key "device" (as in a suite.json), for
// resolve_settings. Throws SettingError that names the file and what is wrong with it.
[[nodiscard]] inline SettingValues settings_of_json(const nlohmann::json& document,
                                                    const std::string& path) {
    // A suite.json says more of its device, and has a schema of its own.
    const bool is_suite = document.is_object() && document.contains("device");
    const auto& object = is_suite ? document["device"] : document;
    if (!object.is_object())
        throw SettingError(path + ": the settings must be a JSON object of keys and values");
    SettingValues values;
    for (const auto& [key, value] : object.items()) {
        if (is_suite && !is_file_key(key)) continue;
        if (value.is_structured() || value.is_null())
            throw SettingError(path + ", key " + key + ": use a string, a number or true or false");
        values.emplace(key, value.is_string() ? value.get<std::string>() : value.dump());
    }
    return values;
}

[[nodiscard]] inline SettingValues read_settings_file(const std::string& path) {
    std::ifstream stream(path);
    if (!stream) throw SettingError(path + ": the settings file cannot be read");
    try {
        return settings_of_json(nlohmann::json::parse(stream), path);
    } catch (const nlohmann::json::exception& error) {
        throw SettingError(path + ": the settings file is not JSON: " + error.what());
    }
}

}  // namespace compat::devices
