#include "runner/archive/imported/import_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "parsers/import/unnamed.h"
#include "parsers/text.h"
#include "runner/analysis/verdict.h"
#include "runner/archive/imported/input_decoder.h"
#include "runner/base/text.h"

namespace compat::archive {

namespace fs = std::filesystem;
using parsers::ModuleRecord;
using parsers::Origin;

namespace {

constexpr std::int64_t kLastAttempt = std::numeric_limits<std::int64_t>::max();

// Runs of one file of which it says the same: most files have one unit.
struct Unit {
    std::size_t file = 0;
    std::vector<std::size_t> runs;     // their indices in the file
    Origin said;                       // by the file; what it does not say, by its folder
    std::vector<std::string> folders;  // below the folder that all files share, without said words
    bool undecided = false;

    [[nodiscard]] auto said_of_all() const {
        return std::tie(said.job, said.shard, said.host, said.attempt);
    }
};

// A test of a unit.
struct Seen {
    std::size_t id = 0;  // its hash
    std::uint32_t unit = 0;
    bool bad = false;
    float duration_s = 0;
};

enum class Relation {
    told_twice,
    attempts,
    shards,
    jobs_by_name,
    jobs_by_host,
    jobs_by_folder,
    undecided
};

// Two units that have tests of the same names.
struct Overlap {
    std::size_t tests = 0;   // that both have
    bool agree = true;       // a test is bad in both or in neither
    bool same_times = true;  // and took as long
    std::array<std::size_t, 2> bad{};  // of these, by each
};

using Pair = std::pair<std::uint32_t, std::uint32_t>;

bool is_text(parsers::Dialect dialect) {
    using enum parsers::Dialect;
    return dialect == unittest_text || dialect == pytest_text || dialect == googletest_text;
}

// Where the file says no time of the run, its tests may.
Origin origin_of(const ModuleRecord& part) {
    Origin said = part.origin;
    if (said.started_ms) return said;
    for (const auto& test : part.cases) {
        if (!test.started_ms) continue;
        const std::int64_t ended = *test.started_ms + std::llround(test.duration_s * 1000);
        said.started_ms = std::min(said.started_ms.value_or(*test.started_ms), *test.started_ms);
        said.ended_ms = std::max(said.ended_ms.value_or(ended), ended);
    }
    return said;
}

class Jobs {
  public:
    explicit Jobs(std::vector<ImportedFile> files) : files_(std::move(files)) {}

    Expected<std::vector<ImportJob>> sort() {
        if (auto read = read_units(); !read) return tl::unexpected(read.error());
        find_places();
        find_overlaps();
        for (const auto& [pair, overlap] : overlaps_) relate(pair, overlap);
        std::map<std::string, std::vector<std::uint32_t>> named;
        for (std::uint32_t i = 0; i < units_.size(); ++i)
            named[name_of_job(units_[i])].push_back(i);
        std::vector<ImportJob> jobs;
        for (auto& [name, units] : named)
            jobs.push_back(make_job(name.empty() && named.size() > 1 ? "other" : name, units));
        return jobs;
    }

  private:
    Expected<void> read_units() {
        for (std::size_t i = 0; i < files_.size(); ++i) {
            const std::size_t first = units_.size();
            if (files_[i].unread.empty()) {
                const auto mapped = Mapped::open(files_[i].file);
                if (!mapped) return tl::unexpected(mapped.error());
                std::size_t run = 0;
                (void)parsers::read_result_file(
                    files_[i].dialect, {files_[i].name, mapped->bytes()},
                    [&](ModuleRecord part) { add_run(part, i, first, run++); });
            }
            if (units_.size() == first) units_.push_back({.file = i});
        }
        return {};
    }

    void add_run(const ModuleRecord& part, std::size_t file, std::size_t first, std::size_t run) {
        const Origin said = origin_of(part);
        auto unit = std::find_if(units_.begin() + static_cast<std::ptrdiff_t>(first), units_.end(),
                                 [&](const Unit& known) {
                                     return known.said_of_all() ==
                                            std::tie(said.job, said.shard, said.host, said.attempt);
                                 });
        if (unit == units_.end()) unit = units_.insert(unit, {.file = file, .said = said});
        unit->runs.push_back(run);
        Origin& all = unit->said;
        if (said.started_ms) {
            all.started_ms = std::min(all.started_ms.value_or(*said.started_ms), *said.started_ms);
            all.ended_ms = std::max(all.ended_ms.value_or(*said.ended_ms), *said.ended_ms);
        }
        const std::string module = part.path.empty() ? files_[file].name + "::" : std::string();
        for (const auto& test : part.cases)
            if (!parsers::is_unnamed(test))
                seen_.push_back({std::hash<std::string>()(module + test.id),
                                 static_cast<std::uint32_t>(unit - units_.begin()),
                                 analysis::is_unexpected(test.state, part.framework),
                                 static_cast<float>(test.duration_s)});
    }

    // A file of test_attempts/ is of the attempts before the file beside that folder (Bazel).
    void find_places() {
        fs::path shared;
        for (const ImportedFile& file : files_) {
            if (file.place.empty()) continue;
            const fs::path folder = file.place.parent_path();
            if (shared.empty()) shared = folder;
            const auto apart =
                std::mismatch(shared.begin(), shared.end(), folder.begin(), folder.end());
            fs::path common;
            for (auto part = shared.begin(); part != apart.first; ++part) common /= *part;
            shared = common;
        }
        std::set<fs::path> retried;  // folders with attempts in a folder of their own
        for (Unit& unit : units_) {
            const ImportedFile& file = files_[unit.file];
            if (!file.job.empty()) unit.said.job = file.job;
            fs::path place;
            for (const fs::path& part : file.place.lexically_relative(shared).parent_path()) {
                if (part == kAttemptsFolder) {
                    retried.insert(file.place.parent_path().parent_path());
                    continue;
                }
                take_words(unit, read_place_name(part.string()), &unit.folders);
            }
            const PlaceName stem = read_place_name(file.place.stem().string());
            take_words(unit, stem, nullptr);
        }
        for (Unit& unit : units_)
            if (!unit.said.attempt && retried.contains(files_[unit.file].place.parent_path()))
                unit.said.attempt = kLastAttempt;
    }

    static void take_words(Unit& unit, const PlaceName& words, std::vector<std::string>* folders) {
        if (unit.said.shard.empty()) unit.said.shard = words.shard;
        if (!unit.said.attempt) unit.said.attempt = words.attempt;
        if (folders != nullptr && !words.job.empty()) folders->push_back(words.job);
    }

    void find_overlaps() {
        std::ranges::sort(seen_, {},
                          [](const Seen& test) { return std::tuple(test.id, test.unit); });
        std::vector<Seen> one;  // of each unit, its last result of a test
        for (std::size_t i = 0; i < seen_.size();) {
            one.clear();
            for (const std::size_t id = seen_[i].id; i < seen_.size() && seen_[i].id == id; ++i) {
                if (!one.empty() && one.back().unit == seen_[i].unit) one.pop_back();
                one.push_back(seen_[i]);
            }
            for (const Seen& test : one) ++tests_[test.unit];
            for (std::size_t a = 0; a < one.size(); ++a)
                for (std::size_t b = a + 1; b < one.size(); ++b) {
                    Overlap& overlap = overlaps_[{one[a].unit, one[b].unit}];
                    ++overlap.tests;
                    overlap.agree = overlap.agree && one[a].bad == one[b].bad;
                    overlap.same_times =
                        overlap.same_times && one[a].duration_s == one[b].duration_s;
                    overlap.bad[0] += one[a].bad ? 1 : 0;
                    overlap.bad[1] += one[b].bad ? 1 : 0;
                }
        }
        seen_ = {};
    }

    void relate(const Pair& pair, const Overlap& overlap) {
        Unit &a = units_[pair.first], &b = units_[pair.second];
        const Relation relation = relation_of(pair, overlap);
        switch (relation) {
            case Relation::jobs_by_name:
                by_name_ = true;
                break;
            case Relation::jobs_by_host:
                by_host_ = true;
                break;
            case Relation::jobs_by_folder: {
                const auto apart = std::mismatch(a.folders.begin(), a.folders.end(),
                                                 b.folders.begin(), b.folders.end());
                by_folder_.insert(static_cast<std::size_t>(apart.first - a.folders.begin()));
                break;
            }
            case Relation::undecided:
                a.undecided = b.undecided = true;
                break;
            default:
                break;
        }
        relations_.emplace(pair, relation);
    }

    [[nodiscard]] bool is_before(const Unit& a, const Unit& b) const {
        return a.said.ended_ms && b.said.started_ms && *a.said.ended_ms <= *b.said.started_ms &&
               *a.said.started_ms < *b.said.started_ms;
    }

    // Whether `later` ran nothing but tests that failed in `earlier`.
    [[nodiscard]] bool reruns(std::uint32_t earlier, std::uint32_t later, const Overlap& overlap,
                              std::size_t bad) const {
        return is_before(units_[earlier], units_[later]) && overlap.tests == tests_.at(later) &&
               bad == overlap.tests && overlap.tests < tests_.at(earlier);
    }

    // The first row that holds decides.
    [[nodiscard]] Relation relation_of(const Pair& pair, const Overlap& overlap) const {
        const Unit &a = units_[pair.first], &b = units_[pair.second];
        const ImportedFile &of_a = files_[a.file], &of_b = files_[b.file];
        const bool other_host =
            !a.said.host.empty() && !b.said.host.empty() && a.said.host != b.said.host;
        const bool other_folder = a.folders != b.folders;
        const bool other_attempt = a.said.attempt != b.said.attempt;
        const bool copied = of_a.dialect == of_b.dialect && overlap.same_times &&
                            a.said.started_ms && a.said.started_ms == b.said.started_ms;
        const bool rerun = reruns(pair.first, pair.second, overlap, overlap.bad[0]) ||
                           reruns(pair.second, pair.first, overlap, overlap.bad[1]);
        const bool ordered = is_before(a, b) || is_before(b, a);
        using enum Relation;
        const std::array<std::pair<bool, Relation>, 9> rows{{
            {a.said.job != b.said.job, jobs_by_name},
            {a.file != b.file && overlap.agree && !other_host &&
                 (of_a.dialect != of_b.dialect || copied),
             told_twice},
            {other_folder && !rerun, jobs_by_folder},
            {a.said.shard != b.said.shard, shards},
            {other_attempt, attempts},
            {other_host && !rerun, jobs_by_host},
            {rerun || ordered, attempts},
            {a.file == b.file, attempts},
            {true, undecided},
        }};
        return std::ranges::find(rows, true, &std::pair<bool, Relation>::first)->second;
    }

    [[nodiscard]] std::string name_of_job(const Unit& unit) const {
        std::vector<std::string> words;
        const auto add = [&](const std::string& word) {
            if (!word.empty()) words.push_back(printable(word));
        };
        const ImportedFile& file = files_[unit.file];
        if (by_name_ || !file.job.empty()) add(unit.said.job);
        if (by_host_) add(unit.said.host);
        std::vector<std::string> folders;
        for (const std::size_t level : by_folder_)
            if (level < unit.folders.size()) folders.push_back(unit.folders[level]);
        add(fmt::format("{}", fmt::join(folders, "/")));
        if (unit.undecided) add(file.place.empty() ? file.name : file.place.filename().string());
        return fmt::format("{}", fmt::join(words, ", "));
    }

    // The units of a job in the order of their attempts; what repeats another comes last.
    ImportJob make_job(const std::string& name, std::vector<std::uint32_t> units) {
        std::map<std::uint32_t, bool> repeats;
        std::map<std::uint32_t, bool> overlapping_shards;
        for (const auto& [pair, relation] : relations_) {
            const bool both =
                std::ranges::count(units, pair.first) + std::ranges::count(units, pair.second) == 2;
            if (!both) continue;
            if (relation == Relation::told_twice) repeats[repeating_of(pair)] = true;
            if (relation == Relation::shards)
                overlapping_shards[pair.first] = overlapping_shards[pair.second] = true;
        }
        std::ranges::sort(units, {}, [&](std::uint32_t i) {
            const Unit& unit = units_[i];
            return std::tuple(repeats[i], unit.said.attempt.value_or(-1),
                              unit.said.started_ms.value_or(0), files_[unit.file].place,
                              files_[unit.file].name, i);
        });
        ImportJob job{name, {}};
        for (const std::uint32_t i : units) {
            const Unit& unit = units_[i];
            ImportedFile& file = job.files.emplace_back(files_[unit.file]);
            const auto of_file = std::ranges::count(units_, unit.file, &Unit::file);
            if (of_file > 1) file.runs = unit.runs;
            if (overlapping_shards[i]) file.shard = unit.said.shard;
            file.repeats = repeats[i];
            if (unit.undecided) file.undecided = others_of(i);
        }
        return job;
    }

    // Text tells less of its tests than a file does.
    [[nodiscard]] std::uint32_t repeating_of(const Pair& pair) const {
        const auto rank = [&](std::uint32_t unit) {
            return std::tuple(is_text(files_[units_[unit].file].dialect),
                              files_[units_[unit].file].place);
        };
        return rank(pair.first) < rank(pair.second) ? pair.second : pair.first;
    }

    [[nodiscard]] std::string others_of(std::uint32_t unit) const {
        for (const auto& [pair, relation] : relations_)
            if (relation == Relation::undecided && (pair.first == unit || pair.second == unit))
                return files_[units_[pair.first == unit ? pair.second : pair.first].file].name;
        return {};
    }

    std::vector<ImportedFile> files_;
    std::vector<Unit> units_;
    std::vector<Seen> seen_;
    std::map<std::uint32_t, std::size_t> tests_;  // of each unit
    std::map<Pair, Overlap> overlaps_;
    std::map<Pair, Relation> relations_;
    // Facts that tell jobs apart.
    bool by_name_ = false, by_host_ = false;
    std::set<std::size_t> by_folder_;  // levels of folders
};

}  // namespace

PlaceName read_place_name(std::string_view name) {
    static const RE2 kShard(
        R"((?i)(?:^|[-_. ])(?:shard|part|split|chunk|partition)[-_. ]?(\d{1,6}))"
        R"((?:[-_. ]?of[-_. ]?(\d{1,6}))?($|[-_. ]))");
    static const RE2 kAttempt(
        R"((?i)(?:^|[-_. ])(?:run[-_])?(?:attempt|retry|rerun|try)[-_. ]?(\d{0,6})($|[-_. ]))");
    PlaceName words;
    std::string rest(name), number, of, end;
    if (RE2::PartialMatch(rest, kShard, &number, &of, &end)) {
        words.shard = of.empty() ? number : fmt::format("{} of {}", number, of);
        RE2::Replace(&rest, kShard, "\\3");
    }
    if (RE2::PartialMatch(rest, kAttempt, &number, &end)) {
        words.attempt = number.empty() ? 1 : parsers::number_of(number).value_or(0);
        RE2::Replace(&rest, kAttempt, "\\2");
    }
    words.job = rest;
    return words;
}

namespace {

// A file's name may name a module. One that is named after its shard or attempt, or as Bazel names
// all, gets the rest of its name, or that of its folder.
void name_by_place(ImportedFile& file, bool alone) {
    static const RE2 kOfBazel("test\\.(xml|log)");
    const fs::path name(file.name);
    PlaceName words = read_place_name(name.stem().string());
    std::error_code error;
    bool of_bazel = fs::exists(file.place.parent_path() / kAttemptsFolder, error);
    std::string folder;
    for (const fs::path& part : file.place.parent_path()) {
        const PlaceName of_part = read_place_name(part.string());
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

}  // namespace

Expected<std::vector<ImportJob>> sort_into_jobs(std::vector<ImportedFile> files) {
    if (files.size() == 1 && files[0].job.empty() && is_text(files[0].dialect))
        return std::vector{ImportJob{{}, std::move(files)}};
    for (ImportedFile& file : files) name_by_place(file, files.size() == 1);
    auto jobs = Jobs(std::move(files)).sort();
    if (jobs)
        for (ImportJob& job : *jobs) tell_names_apart(job.files);
    return jobs;
}

}  // namespace compat::archive
