#include "suites/load.h"

#include <fmt/format.h>

#include <cassert>
#include <nlohmann/json.hpp>
#include <system_error>

#include "runner/base/files.h"
#include "runner/base/nearest.h"
#include "suites/convention.h"
#include "suites/positions.h"
#include "suites/schema.h"
#include "suites/units.h"

namespace compat::suites {

namespace {

using nlohmann::ordered_json;  // keeps the order of `env` and `groups`

// The functions below read a document that the schema has validated.

void read(const ordered_json& at, const char* key, std::string& to) {
    if (at.contains(key)) to = at[key].get<std::string>();
}

void read(const ordered_json& at, const char* key, bool& to) {
    if (at.contains(key)) to = at[key].get<bool>();
}

void read(const ordered_json& at, const char* key, int& to) {
    if (at.contains(key)) to = at[key].get<int>();
}

void read(const ordered_json& at, const char* key, std::vector<std::string>& to) {
    if (at.contains(key)) to = at[key].get<std::vector<std::string>>();
}

void read(const ordered_json& at, const char* key, std::uint64_t& to) {
    if (!at.contains(key)) return;
    const auto value = parse_size(at[key].get<std::string>());
    assert(value);
    to = *value;
}

void collect_settings(const ordered_json& at, const std::string& before,
                      decltype(Suite::setting_texts)& given) {
    for (const auto& [key, value] : at.items())
        if (value.is_object())
            collect_settings(value, before + key + ".", given);
        else if (!value.is_array())
            given.emplace(before + key, flag_text(value));
}

const ordered_json& section(const ordered_json& at, const char* key) {
    static const ordered_json kEmpty = ordered_json::object();
    return at.contains(key) ? at[key] : kEmpty;
}

Source source_of(const ordered_json& at) {
    Source source{SourceKind::path, ".", {}};
    if (at.contains("pypi")) {
        source.kind =
            at.value("kind", "sdist") == "wheel" ? SourceKind::pypi_wheel : SourceKind::pypi_sdist;
        read(at, "pypi", source.spec);
    } else if (at.contains("git")) {
        source.kind = SourceKind::git;
        read(at, "git", source.spec);
        read(at, "rev", source.rev);
    } else if (at.contains("debian")) {
        source.kind = SourceKind::debian;
        read(at, "debian", source.spec);
    } else {
        read(at, "path", source.spec);
    }
    return source;
}

Suite suite_of(const ordered_json& at) {
    Suite suite;
    read(at, "name", suite.name);
    suite.source = source_of(section(at, "source"));
    suite.framework = framework_of(at["framework"].get<std::string>()).value();

    const ordered_json& layout = section(at, "layout");
    suite.layout.modules = default_modules(suite.framework);
    read(layout, "tests", suite.layout.tests);
    read(layout, "pythonpath", suite.layout.pythonpath);
    read(layout, "modules", suite.layout.modules);
    read(layout, "exclude", suite.layout.exclude);

    read(at, "requirements", suite.requirements);
    for (const auto& [name, value] : section(at, "env").items())
        suite.env.emplace_back(name, value.get<std::string>());
    const ordered_json& device = section(at, "device");
    for (const auto& [name, value] : section(device, "env").items())
        suite.device_env.emplace_back(name, value.get<std::string>());
    read(device, "options", suite.device_options);
    read(at, "system_packages", suite.system_packages);
    if (at.contains("preload")) read(at, "preload", suite.preload.emplace());

    const ordered_json& limits = section(at, "limits");
    read(limits, "log_bytes", suite.limits.log_bytes);
    read(limits, "events_bytes", suite.limits.events_bytes);
    read(limits, "memory", suite.limits.memory_bytes);
    read(limits, "restarts", suite.limits.restarts);

    for (const auto& [name, value] : section(at, "groups").items()) {
        Group group{name, {}, true};
        read(value, "paths", group.paths);
        read(value, "by_default", group.by_default);
        suite.groups.push_back(std::move(group));
    }
    read(section(at, "links"), "base", suite.links_base);
    collect_settings(at, "", suite.setting_texts);
    return suite;
}

// "suites/einop" and "einop" both suggest the shipped "suites/einops".
std::vector<std::string> nearest_suites(const fs::path& folder,
                                        std::span<const std::string> shipped) {
    std::vector<std::string> names;
    for (const std::string& path : shipped) names.push_back(fs::path(path).filename().string());
    const fs::path whole = folder.has_filename() ? folder : folder.parent_path();
    std::vector<std::string> near = nearest(whole.filename().string(), names, 3);
    for (std::string& name : near)
        for (const std::string& path : shipped)
            if (fs::path(path).filename() == name) name = path;
    return near;
}

}  // namespace

Expected<Suite> parse_suite(std::string_view text, const fs::path& file) {
    const Positions positions = find_positions(text);
    if (positions.problem) return refuse(file, positions.problem->at, positions.problem->message);
    const ordered_json document = ordered_json::parse(text, nullptr, true, true);

    if (document.is_object() && document.contains("format") &&
        document["format"].is_number_integer() && document["format"] > kFormat)
        return refuse(file, positions.of("/format"),
                      fmt::format("format {} is newer than this runner supports (format {})",
                                  document["format"].dump(), kFormat),
                      "update the runner");
    if (const auto violation = find_violation(nlohmann::json(document)))
        return refuse(file,
                      violation->key ? positions.of_key(violation->pointer)
                                     : positions.of(violation->pointer),
                      violation->message);
    for (const char* pointer : {"/env", "/device/env"}) {
        const ordered_json::json_pointer at(pointer);
        if (!document.contains(at)) continue;
        for (const auto& [name, value] : document[at].items())
            if ((name + value.get<std::string>()).find('\0') != std::string::npos)
                return refuse(file, positions.of(pointer),
                              fmt::format("the variable \"{}\" contains a NUL byte",
                                          name.substr(0, name.find('\0'))),
                              "remove it");
    }

    Suite suite = suite_of(document);
    suite.folder = file.parent_path();
    return suite;
}

Expected<Suite> load_suite(const fs::path& folder, std::span<const std::string> shipped) {
    std::error_code error;
    const fs::file_status status = fs::status(folder, error);
    if (!fs::exists(status)) {
        std::string advice = did_you_mean(nearest_suites(folder, shipped));
        if (advice.empty()) advice = "name the folder of a suite or of a project with tests";
        return fail(ErrorKind::suite, "no such suite folder", std::move(advice), folder.string());
    }
    if (!fs::is_directory(status))
        return fail(ErrorKind::suite, "not a folder",
                    "name the folder of a suite or of a project with tests", folder.string());
    const fs::path file = folder / "suite.json";
    if (!fs::exists(file, error)) return find_by_convention(folder);
    const auto text = TRY(read_file(file));
    return parse_suite(text, file);
}

}  // namespace compat::suites
