#include "runner/config/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "runner/base/files.h"
#include "runner/base/nearest.h"
#include "runner/config/toml_table.h"
#include "suites/positions.h"

namespace compat::config {

namespace {

using nlohmann::json;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

Expected<std::vector<Entry>> read_json(std::string_view text, const fs::path& file) {
    const suites::Positions positions = suites::find_positions(text);
    if (positions.problem)
        return fail(ErrorKind::usage, positions.problem->message, {},
                    place(file, positions.problem->at));
    const json document = json::parse(text, nullptr, true, true);
    if (!document.is_object())
        return fail(ErrorKind::usage, "expected an object of settings", {},
                    place(file, positions.of("")));
    std::vector<Entry> entries;
    for (const auto& [key, value] : document.items()) {
        if (key == "$schema") continue;  // for editors
        const std::string pointer = '/' + suites::pointer_token(key);
        entries.push_back({key, value, positions.of_key(pointer), positions.of(pointer)});
    }
    return entries;
}

// Keys of earlier releases, and what is used instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRemovedKeys{
    {{"tpu_batch_factor", "set COMPUTE_TPU_BATCH_FACTOR, which the device library reads"},
     {"cost_cpu", "set COMPAT_COST_CPU, which the device library reads"},
     {"cost_gpu", "set COMPAT_COST_GPU, which the device library reads"},
     {"cost_tpu", "set COMPAT_COST_TPU, which the device library reads"}}};

tl::unexpected<Error> refuse_key(const Entry& entry, const fs::path& file) {
    for (const auto& [key, instead] : kRemovedKeys)
        if (entry.key == key)
            return fail(ErrorKind::usage, fmt::format("\"{}\" was removed", key),
                        std::string(instead), place(file, entry.key_at));
    std::vector<std::string> keys;
    std::string list;
    for (const SettingRow& row : kSettings) {
        keys.emplace_back(row.key);
        list += fmt::format("{}{}", list.empty() ? "" : ", ", row.key);
    }
    const std::string guess = did_you_mean(nearest(entry.key, keys, 1));
    return fail(ErrorKind::usage, fmt::format("unknown key \"{}\"", entry.key),
                fmt::format("{}{}(allowed: {})", guess, guess.empty() ? "" : " ", list),
                place(file, entry.key_at));
}

// Nothing: the value does not have the type of the setting.
std::optional<std::string> text_of(const SettingRow& row, const json& value) {
    if (row.type == Type::on_off)
        return value.is_boolean() ? std::optional(value.get<bool>() ? "on" : "off") : std::nullopt;
    if (row.type == Type::fraction || row.type == Type::amount)
        return value.is_number() ? std::optional(value.dump()) : std::nullopt;
    if (row.type == Type::number)
        return value.is_number_integer() ? std::optional(value.dump()) : std::nullopt;
    return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

std::string expected_value(const SettingRow& row) {
    if (row.type == Type::on_off) return "expected true or false";
    if (row.type == Type::number)
        return fmt::format("expected a whole number from {} to {}", row.least, row.most);
    if (row.type == Type::fraction) return "expected a number above 0, at most 1";
    if (row.type == Type::amount) return fmt::format("expected a number of {}", row.allowed);
    if (row.type == Type::words) return fmt::format("expected one of {}, quoted", row.allowed);
    return "expected a string";
}

// A relative path is relative to the file's folder; "~/" is the home folder.
std::string path_from(const fs::path& folder, const std::string& text) {
    if (text == "~" || text.starts_with("~/")) return variable("HOME") + text.substr(1);
    return (folder / text).lexically_normal().string();
}

Expected<ConfigFile> checked(const std::vector<Entry>& entries, const fs::path& file) {
    ConfigFile config{file, {}};
    for (const Entry& entry : entries) {
        const auto row = std::find_if(kSettings.begin(), kSettings.end(),
                                      [&](const SettingRow& r) { return r.key == entry.key; });
        if (row == kSettings.end()) return refuse_key(entry, file);
        const std::string where = place(file, entry.value_at);
        auto text = text_of(*row, entry.value);
        if (!text)
            return fail(ErrorKind::usage,
                        fmt::format("\"{}\": {}", entry.key, expected_value(*row)), {}, where);
        if (auto refused = refuse(*row, *text))
            return fail(ErrorKind::usage, fmt::format("\"{}\": {}", entry.key, refused->message),
                        std::move(refused->advice), where);
        const bool path = is_path(*row, *text) ||
                          (row->type == Type::program && text->find('/') != std::string::npos);
        config.values[row->setting] = {path ? path_from(file.parent_path(), *text) : *text, where};
    }
    return config;
}

bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

Expected<std::optional<ConfigFile>> read_json_file(const fs::path& file) {
    if (!is_file(file)) return std::nullopt;
    return read_file(file)
        .and_then([&](const std::string& text) { return read_json(text, file); })
        .and_then([&](const std::vector<Entry>& entries) { return checked(entries, file); })
        .map([](ConfigFile config) { return std::optional(std::move(config)); });
}

Expected<std::optional<ConfigFile>> read_pyproject(const fs::path& file) {
    if (!is_file(file)) return std::nullopt;
    const auto text = TRY(read_file(file));
    // Errors in a file without settings of the runner are ignored.
    if (text.find("runner") == std::string::npos) return std::nullopt;
    const auto entries = TRY(read_tool_runner(text, file));
    if (!entries) return std::nullopt;
    return checked(*entries, file).map([](ConfigFile config) {
        return std::optional(std::move(config));
    });
}

std::vector<fs::path> folders_to_search(const fs::path& suite_folder) {
    std::error_code error;
    std::vector<fs::path> folders;
    if (!suite_folder.empty() && fs::is_directory(suite_folder, error))
        folders.push_back(fs::absolute(suite_folder, error).lexically_normal());
    const fs::path here = fs::current_path(error);
    if (error) return folders;
    folders.push_back(here);
    std::vector<fs::path> parents;
    for (fs::path folder = here; !fs::exists(folder / ".git", error);) {
        if (folder == folder.root_path()) return folders;
        folder = folder.parent_path();
        parents.push_back(folder);
    }
    folders.insert(folders.end(), parents.begin(), parents.end());
    return folders;
}

}  // namespace

Expected<std::optional<ConfigFile>> read_project_file(const fs::path& suite_folder) {
    for (const fs::path& folder : folders_to_search(suite_folder)) {
        auto file = read_json_file(folder / "runner.json");
        if (!file || *file) return file;
        file = read_pyproject(folder / "pyproject.toml");
        if (!file || *file) return file;
    }
    return std::nullopt;
}

Expected<std::optional<ConfigFile>> read_user_file() {
    const fs::path given = variable("XDG_CONFIG_HOME");
    const fs::path home = variable("HOME");
    if (!given.is_absolute() && home.empty()) return std::nullopt;
    const fs::path folder = given.is_absolute() ? given : home / ".config";
    return read_json_file(folder / "runner" / "config.json");
}

}  // namespace compat::config
