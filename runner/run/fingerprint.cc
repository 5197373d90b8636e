#include "runner/run/fingerprint.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "runner/base/files.h"
#include "runner/base/files/fs.h"
#include "runner/base/host.h"
#include "runner/base/isolation/file_tree.h"
#include "runner/base/names.h"
#include "runner/base/secrets.h"
#include "runner/prepare/cache.h"
#include "suites/tree.h"

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
        const auto name = std::string_view(word).substr(begin, equals - std::min(equals, begin));
        const bool is_test = name.find("::") != name.npos;  // "a.py::test[KEY=1]"
        if (equals != std::string::npos && !is_test && is_secret_name(name))
            word.replace(equals + 1, std::string::npos, kMasked);
        word = is_test ? mask_url_passwords(word) : mask_secrets(word, {});
    }
    // "--password" and its value are two words.
    for (size_t i = 1; i < words.size(); ++i)
        if (words[i - 1].starts_with('-') && mask_secrets(words[i - 1] + '=' + words[i], {}) ==
                                                 fmt::format("{}={}", words[i - 1], kMasked))
            words[i] = kMasked;
    return words;
}

namespace {

// Endings of what changes a test's result most often. Data is left out: it may be large.
constexpr std::array<std::string_view, 14> kCode{".py",  ".pyi", ".pyx", ".toml", ".cfg",
                                                 ".ini", ".c",   ".cc",  ".cpp",  ".cu",
                                                 ".cuh", ".h",   ".hpp", ".mm"};

// The end of a larger file tells it from others: it is no code.
constexpr std::uint64_t kMostRead = 16 << 20;

// A hash of the code below a folder: names and bytes. Hidden folders, results and caches do not
// count.
std::string code_hash(const fs::path& root) {
    std::vector<std::string> files;
    WalkVisitor visitor;
    visitor.file = [&](const FoundFile& file) {
        const std::string ending = fs::path(file.path).extension();
        if (std::find(kCode.begin(), kCode.end(), ending) != kCode.end())
            files.push_back(file.path);
        return true;
    };
    visitor.folder = [&](const FoundFile& folder) {
        const auto name = std::string_view(folder.path).substr(folder.path.rfind('/') + 1);
        return !name.starts_with('.') && name != "__pycache__" &&
               !suites::holds_results(root / folder.path);
    };
    if (walk_files(root, {.most = kMostWalked, .longest = PATH_MAX}, visitor)) return {};
    std::sort(files.begin(), files.end());
    std::vector<std::string> keys;
    for (const std::string& file : files)
        keys.push_back(
            prepare::content_key({file, read_file(root / file, kMostRead).value_or("")}));
    return prepare::content_key({keys.begin(), keys.end()});
}

// The hash of the archive, or of the folder's code if no commit says what it holds.
std::string source_hash(const prepare::Source& source) {
    return source.hash.empty() && (source.commit.empty() || source.dirty) ? code_hash(source.root)
                                                                          : source.hash;
}

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
                      {"hash", source_hash(prepared.source)}};
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
