#include "runner/run/fingerprint.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/base/host.h"
#include "runner/base/names.h"

namespace compat::run {

plan::Variables masked(plan::Variables variables) {
    for (auto& [name, value] : variables) value = mask_secret(name, value);
    return variables;
}

std::vector<std::string> masked(std::vector<std::string> words) {
    for (auto& word : words) {
        // "--env=NAME=VALUE" is one word; the name is what follows.
        const size_t begin = word.starts_with("--env=") ? 6 : 0;
        const size_t equals = word.find('=', begin);
        if (equals != std::string::npos &&
            is_secret_name(std::string_view(word).substr(begin, equals - begin)))
            word.replace(equals + 1, std::string::npos, kMasked);
        word = mask_url_passwords(word);
    }
    return words;
}

namespace {

// The devices that torch finds, and apart from them what changes by itself and is never compared.
void add_devices(nlohmann::ordered_json& json, const std::string& devices) {
    auto& changing = json["volatile"] = nlohmann::ordered_json::object();
    std::array<double, 3> load{};
    if (::getloadavg(load.data(), load.size()) == load.size()) changing["load"] = load;
    auto probed = nlohmann::ordered_json::parse(devices, nullptr, /*allow_exceptions=*/false);
    if (!probed.is_object() || !probed.contains("devices")) return;
    json["devices"] = std::move(probed["devices"]);
    for (auto& device : json["devices"]) {
        changing["memory_free"][device.value("device", "?")] = device["memory_free"];
        device.erase("memory_free");
    }
}

}  // namespace

std::string fingerprint(const prepare::Prepared& prepared, const config::Settings& settings,
                        const plan::Variables& child_env) {
    utsname host{};
    ::uname(&host);
    nlohmann::ordered_json json;
    json["host"] = host.nodename;
    json["os"] = os_name();
    json["kernel"] = std::string(host.sysname) + " " + host.release;
    json["machine"] = host.machine;
    json["cpu"] = cpu_model();
    json["cores"] = std::thread::hardware_concurrency();
    json["memory_bytes"] =
        static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
    json["python"] = prepared.environment.version;
    json["torch"] = {{"version", prepared.environment.torch_version},
                     {"git", prepared.environment.torch_git}};
    json["packages"] = prepared.environment.packages;
    json["source"] = {{"commit", prepared.source.commit},
                      {"dirty", prepared.source.dirty},
                      {"hash", prepared.source.hash}};
    json["runner"] = kVersion;
    // The shim's library lies in a folder that is named by what it was built from.
    json["shim"] = prepared.shim_library.parent_path().filename().string();
    add_devices(json, prepared.devices);
    for (const auto& row : config::kSettings)
        json["settings"][std::string(row.name)] = mask_url_passwords(settings.text(row.setting));
    for (const auto& [name, value] : masked(child_env)) json["env"][name] = value;
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace compat::run
