#include "runner/site/last_night.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/files.h"
#include "runner/base/secrets.h"

namespace compat::site {

namespace {

using Json = nlohmann::json;

constexpr const char* kLatest = "latest";

// Empty: `of` has no such text, or no such list.
std::string word_in(const Json& of, const char* key) {
    const auto value = of.is_object() ? of.find(key) : of.end();
    return value != of.end() && value->is_string() ? value->get<std::string>() : std::string{};
}
Json list_in(const Json& of, const char* key) {
    const auto value = of.is_object() ? of.find(key) : of.end();
    return value != of.end() && value->is_array() ? *value : Json::array();
}

std::vector<reports::SiteProblem> problems_of(const Json& summary) {
    const auto secrets = own_secret_values();
    std::vector<reports::SiteProblem> problems;
    for (const Json& cell : list_in(summary, "cells")) {
        if (!word_in(cell, "run").empty() || word_in(cell, "problem").empty()) continue;
        problems.push_back({word_in(cell, "suite"), word_in(cell, "column"), word_in(cell, "torch"),
                            mask_secrets(word_in(cell, "problem"), secrets)});
    }
    return problems;
}

std::vector<reports::SiteTorchPair> torch_pairs_of(const Json& summary) {
    std::vector<reports::SiteTorchPair> pairs;
    for (const Json& pair : list_in(summary, "torch_pairs")) {
        const auto torch = [&](const char* side) {
            return pair.is_object() && pair.contains(side) ? word_in(pair[side], "torch")
                                                           : std::string();
        };
        reports::SiteTorchPair found{
            word_in(pair, "suite"), word_in(pair, "column"), torch("older"), torch("newer"), {}};
        for (const Json& test : list_in(pair, "tests"))
            found.tests.push_back({word_in(test, "test"), word_in(test, "change"),
                                   word_in(test, "older"), word_in(test, "newer"),
                                   word_in(test, "older_error"), word_in(test, "newer_error")});
        if (!found.tests.empty()) pairs.push_back(std::move(found));
    }
    return pairs;
}

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

LastNight last_night(const fs::path& results) {
    const fs::path newest = newest_night(results);
    const auto text =
        newest.empty() ? std::string() : read_file(newest / kNightSummary).value_or("");
    const Json summary = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    return {problems_of(summary), torch_pairs_of(summary)};
}

}  // namespace compat::site
