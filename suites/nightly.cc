#include "suites/nightly.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/nearest.h"
#include "runner/base/version.h"
#include "suites/positions.h"
#include "suites/schema.h"

namespace compat::suites {

namespace {

using nlohmann::ordered_json;

// Relative to the file's folder, if it is there.
std::string suite_path(const fs::path& folder, const std::string& suite) {
    std::error_code error;
    const fs::path beside = (folder / suite).lexically_normal();
    return fs::exists(beside, error) ? beside.string() : suite;
}

constexpr std::string_view kTargetKey = "slurm_target_time", kShardsKey = "slurm_shards";

// The settings that a column's values are.
std::map<std::string, std::string> settings_of(const ordered_json& column, const fs::path& folder) {
    std::map<std::string, std::string> settings;
    for (const auto& [key, value] : column.items())
        if (key != "name" && key != "host") settings[key] = flag_text(value);
    if (!column.contains("host")) return settings;
    settings["on"] = "slurm";
    for (const auto& [key, value] : column["host"]["slurm"].items())
        settings["slurm_" + key] = key == "setup"
                                       ? (folder / flag_text(value)).lexically_normal().string()
                                       : flag_text(value);
    return settings;
}

void set_torch(NightlyCell& cell, const std::string& version) {
    cell.torch_version = version;
    if (!version.empty()) cell.settings["torch_requirement"] = "torch==" + version;
}

struct Reader {
    const ordered_json& document;
    const Positions& positions;
    const fs::path& file;

    [[nodiscard]] fs::path folder() const { return file.parent_path(); }

    // Empty: not given.
    [[nodiscard]] fs::path path(const ordered_json& at, const char* key) const {
        if (!at.contains(key)) return {};
        return (folder() / at[key].get<std::string>()).lexically_normal();
    }

    // The columns of a suite, by their index.
    Expected<std::vector<std::size_t>> columns_of(std::size_t suite) const {
        const ordered_json& columns = document["columns"];
        std::vector<std::string> names;
        for (const auto& column : columns) names.push_back(column["name"].get<std::string>());
        std::vector<std::size_t> chosen;
        const ordered_json& at = document["suites"][suite];
        if (!at.contains("columns")) {
            for (std::size_t i = 0; i < names.size(); ++i) chosen.push_back(i);
            return chosen;
        }
        for (std::size_t i = 0; i < at["columns"].size(); ++i) {
            const auto name = at["columns"][i].get<std::string>();
            const auto found = std::find(names.begin(), names.end(), name);
            if (found == names.end())
                return refuse(file, positions.of(fmt::format("/suites/{}/columns/{}", suite, i)),
                              fmt::format("no column is named \"{}\"", name),
                              did_you_mean(nearest(name, names, 2)));
            chosen.push_back(static_cast<std::size_t>(found - names.begin()));
        }
        return chosen;
    }

    NightlyCell cell(const ordered_json& suite, const ordered_json& column,
                     const std::string& torch) const {
        NightlyCell cell;
        cell.suite = suite_path(folder(), suite["suite"].get<std::string>());
        cell.column = column["name"].get<std::string>();
        cell.torch = torch;
        cell.name = suite.value(
            "name", fs::path(fs::path(cell.suite) / "").parent_path().filename().string());
        cell.series = fmt::format("{}-{}{}", short_name(cell.name), short_name(cell.column),
                                  torch.empty() ? "" : "-torch-" + torch);
        const auto words = [&](const char* key) {
            return suite.value(key, std::vector<std::string>{});
        };
        cell.targets = words("targets");
        cell.options = words("options");
        cell.settings = settings_of(column, folder());
        if (document.contains("isolation"))
            cell.settings.emplace("isolation", document["isolation"].get<std::string>());
        for (const char* key : {"root", "python"})
            if (suite.contains(key)) cell.settings[key] = path(suite, key).string();
        if (torch != kNewestTorch) set_torch(cell, torch);
        if (document.contains("shards") && cell.settings.contains("on")) {
            const ordered_json& shards = document["shards"];
            const bool is_time = shards.is_object();
            cell.settings.emplace(is_time ? kTargetKey : kShardsKey,
                                  flag_text(is_time ? shards["target"] : shards));
        }
        return cell;
    }

    Expected<std::vector<NightlyCell>> cells() const {
        std::vector<NightlyCell> cells;
        std::map<std::string, std::string> series;  // -> suite and column
        const auto versions = document.value("torch", std::vector<std::string>{""});
        for (std::size_t s = 0; s < document["suites"].size(); ++s) {
            const ordered_json& suite = document["suites"][s];
            if (suite.contains("python") && document.contains("torch"))
                return refuse(file, positions.of_key(fmt::format("/suites/{}/python", s)),
                              "\"python\" names an environment, whose torch is what it is",
                              "remove it, or remove \"torch\"");
            const auto columns = TRY(columns_of(s));
            for (const std::size_t c : columns)
                for (const std::string& torch : versions) {
                    NightlyCell made = cell(suite, document["columns"][c], torch);
                    const std::string what = made.suite + ", " + made.column;
                    if (const auto [other, is_new] = series.emplace(made.series, what); !is_new)
                        return refuse(file, positions.of(fmt::format("/suites/{}", s)),
                                      fmt::format("\"{}\" and \"{}\" both make the series {}",
                                                  other->second, what, made.series),
                                      "give this suite a \"name\", or a column another name");
                    cells.push_back(std::move(made));
                }
        }
        return cells;
    }
};

}  // namespace

Expected<Nightly> parse_nightly(std::string_view text, const fs::path& file) {
    const Positions positions = find_positions(text);
    if (positions.problem) return refuse(file, positions.problem->at, positions.problem->message);
    const ordered_json document = ordered_json::parse(text, nullptr, true, true);
    if (document.is_object() && document.contains("format") &&
        document["format"].is_number_integer() && document["format"] > kNightlyFormat)
        return refuse(file, positions.of("/format"),
                      fmt::format("format {} is newer than this runner supports (format {})",
                                  document["format"].dump(), kNightlyFormat),
                      "update the runner");
    if (const auto violation = find_violation(nlohmann::json(document), SchemaOf::nightly))
        return refuse(file,
                      violation->key ? positions.of_key(violation->pointer)
                                     : positions.of(violation->pointer),
                      violation->message);
    const Reader reader{document, positions, file};
    auto cells = TRY(reader.cells());
    Nightly nightly;
    nightly.file = file;
    nightly.results = reader.path(document, "results");
    nightly.site = reader.path(document, "site");
    nightly.cells = std::move(cells);
    if (document.contains("keep"))
        for (const auto& [key, value] : document["keep"].items())
            (key == "runs" ? nightly.keep_runs : nightly.keep_days) = value.get<std::int64_t>();
    nightly.notify = document.value("notify", std::vector<std::string>{});
    return nightly;
}

std::string NightlyCell::title() const {
    if (torch.empty()) return column;
    const bool is_resolved = torch != torch_version && !torch_version.empty();
    return fmt::format("{}, torch {}{}", column, torch,
                       is_resolved ? fmt::format(" ({})", torch_version) : "");
}

bool asks_for_newest_torch(const Nightly& nightly) {
    return std::ranges::any_of(nightly.cells,
                               [](const auto& cell) { return cell.torch == kNewestTorch; });
}

std::string set_newest_torch(Nightly& nightly, const std::string& version) {
    std::string listed;
    std::erase_if(nightly.cells, [&](const NightlyCell& cell) {
        const bool same = cell.torch != kNewestTorch && accepts_version(cell.torch, version);
        if (same) listed = cell.torch;
        return same;
    });
    for (NightlyCell& cell : nightly.cells)
        if (cell.torch == kNewestTorch) set_torch(cell, version);
    return listed;
}

Expected<Nightly> load_nightly(const fs::path& file) {
    const auto text = TRY(read_file(file));
    return parse_nightly(text, fs::absolute(file).lexically_normal());
}

}  // namespace compat::suites
