#include "runner/site/last_night.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/files.h"
#include "runner/base/secrets.h"

namespace compat::site {

namespace {

constexpr const char* kLatest = "latest";

}  // namespace

fs::path newest_night(const fs::path& results) {
    std::error_code error;
    const fs::path nights = results / kNights;
    const fs::path marked = nights / fs::read_symlink(nights / kLatest, error).filename();
    if (!error && fs::exists(marked / kNightSummary, error)) return marked;
    fs::path newest;  // by its name, which is a time
    for (const auto& entry : fs::directory_iterator(nights, error))
        if (fs::exists(entry.path() / kNightSummary, error))
            newest = std::max(newest, entry.path());
    return newest;
}

void mark_newest(const fs::path& night) {
    std::error_code error;
    const fs::path link = night.parent_path() / kLatest, beside = link.string() + ".new";
    fs::remove(beside, error);
    fs::create_directory_symlink(night.filename(), beside, error);
    if (!error) fs::rename(beside, link, error);
}

std::vector<reports::SiteProblem> cells_without_run(const fs::path& results) {
    const fs::path night = newest_night(results);
    if (night.empty()) return {};
    const auto text = read_file(night / kNightSummary);
    if (!text) return {};
    const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("cells") || !json["cells"].is_array()) return {};
    const auto secrets = own_secret_values();
    std::vector<reports::SiteProblem> problems;
    for (const auto& cell : json["cells"]) {
        const auto word = [&](const char* key) {
            const auto value = cell.is_object() ? cell.find(key) : cell.end();
            return value != cell.end() && value->is_string() ? value->get<std::string>()
                                                             : std::string{};
        };
        if (!word("run").empty() || word("problem").empty()) continue;
        problems.push_back(
            {word("suite"), word("column"), word("torch"), mask_secrets(word("problem"), secrets)});
    }
    return problems;
}

}  // namespace compat::site
