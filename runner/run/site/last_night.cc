#include "runner/run/site/last_night.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/files.h"
#include "runner/base/secrets.h"

namespace compat::run {

namespace fs = std::filesystem;

std::vector<fs::path> night_folders(const fs::path& results) {
    std::vector<fs::path> folders;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(results / kNights, error))
        if (fs::exists(entry.path() / kNightSummary, error)) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    return folders;
}

std::vector<reports::SiteProblem> cells_without_run(const fs::path& results) {
    const std::vector<fs::path> nights = night_folders(results);
    if (nights.empty()) return {};
    const auto text = read_file(nights.back() / kNightSummary);
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

}  // namespace compat::run
