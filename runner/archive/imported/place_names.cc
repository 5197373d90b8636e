#include "runner/archive/imported/place_names.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <map>
#include <set>

#include "parsers/text.h"

namespace compat::archive {

PlaceName read_place_name(std::string_view name, NameOf of) {
    static const RE2 kShard(
        R"((?i)(?:^|[-_. (])(?:shard|part|split|chunk|partition)[-_. ]?(\d{1,6}))"
        R"((?:[-_. ]?of[-_. ]?(\d{1,6}))?($|[-_. ),]))");
    static const RE2 kAttempt(
        R"((?i)(?:^|[-_. (])(?:run[-_])?(?:attempt|retry|rerun|try)[-_. ]?(\d{1,6})($|[-_. ),]))");
    static const RE2 kUnnumbered(R"((?i)(?:^|[-_. ])(?:retry|rerun)()($|[-_. ]))");
    PlaceName words;
    std::string rest(name), number, count, end;
    if (RE2::PartialMatch(rest, kShard, &number, &count, &end)) {
        words.shard = count.empty() ? number : fmt::format("{} of {}", number, count);
        RE2::Replace(&rest, kShard, "\\3");
    }
    for (const RE2* form : {&kAttempt, &kUnnumbered}) {
        if (form == &kUnnumbered && of == NameOf::folder) break;
        if (words.attempt || !RE2::PartialMatch(rest, *form, &number, &end)) continue;
        words.attempt = number.empty() ? 1 : parsers::number_of(number).value_or(0);
        RE2::Replace(&rest, *form, "\\2");
    }
    words.job = rest;
    return words;
}

void name_by_place(ImportedFile& file, bool alone) {
    static const RE2 kOfBazel("test\\.(xml|log)");
    const fs::path name(file.name);
    PlaceName words = read_place_name(name.stem().string(), NameOf::file);
    std::error_code error;
    bool of_bazel = fs::exists(file.place.parent_path() / kAttemptsFolder, error);
    std::string folder;
    for (const fs::path& part : file.place.parent_path()) {
        const PlaceName of_part = read_place_name(part.string(), NameOf::folder);
        of_bazel = of_bazel || part == "testlogs" || part == "bazel-testlogs" ||
                   part == kAttemptsFolder || !of_part.shard.empty();
        if (part != kAttemptsFolder && !of_part.job.empty()) folder = of_part.job;
    }
    of_bazel = of_bazel && RE2::FullMatch(file.name, kOfBazel);
    if (alone && !of_bazel) return;
    if (of_bazel) words.job.clear();
    if (words.job.empty()) words.job = folder;
    if (!words.job.empty() && file.unread.empty())
        file.name = words.job + name.extension().string();
}

void tell_names_apart(std::vector<ImportedFile>& files) {
    std::vector<fs::path> folders;  // without those of shards and attempts
    for (const ImportedFile& file : files) {
        fs::path& folder = folders.emplace_back();
        for (const fs::path& part : file.place.parent_path())
            if (const auto words = read_place_name(part.string(), NameOf::folder);
                !words.job.empty() && part != kAttemptsFolder)
                folder /= words.job;
    }
    for (bool longer = true; longer;) {
        longer = false;
        std::map<std::string, std::set<fs::path>> named;
        for (size_t i = 0; i < files.size(); ++i) named[files[i].name].insert(folders[i]);
        for (size_t i = 0; i < files.size(); ++i) {
            if (named[files[i].name].size() == 1 || folders[i].filename().empty()) continue;
            files[i].name.insert(0, folders[i].filename().string() + "/");
            folders[i] = folders[i].parent_path();
            longer = true;
        }
    }
}

std::string without_ordinals(const std::string& name) {
    static const RE2 kWord("([^-_. ]+)");
    static const RE2 kOrdinal(
        "(?i)[0-9]+|[a-z]|(?:run|pass)[0-9]*|first|second|third|last|again|final|old|new|before|"
        "after");
    std::string kept, word;
    re2::StringPiece rest(name);
    while (RE2::FindAndConsume(&rest, kWord, &word))
        if (!RE2::FullMatch(word, kOrdinal)) kept += (kept.empty() ? "" : "-") + word;
    return kept;
}

}  // namespace compat::archive
