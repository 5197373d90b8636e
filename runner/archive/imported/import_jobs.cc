#include "runner/archive/imported/import_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "parsers/import/unnamed.h"
#include "runner/analysis/verdict.h"
#include "runner/archive/imported/input_decoder.h"
#include "runner/archive/imported/place_names.h"
#include "runner/base/text.h"

namespace compat::archive {

using parsers::ModuleRecord;
using parsers::Origin;

namespace {

constexpr std::int64_t kLastAttempt = std::numeric_limits<std::int64_t>::max();

// Runs of one file: each of its own, but those of a text, which follow each other.
struct Unit {
    std::size_t file = 0;
    std::vector<std::size_t> runs;     // their indices in the file
    Origin said;                       // by the file; what it does not say, by its place
    std::vector<std::string> folders;  // below the folder that all files share, without said words
    std::string name;                  // of the file, without said and ordinal words
    std::size_t tests = 0, results = 0, bad = 0;
    std::string undecided;  // a file with the same tests
};

// A test of a unit: its last result, and how many it has.
struct Seen {
    std::size_t id = 0;  // its hash
    std::uint32_t unit = 0;
    bool bad = false;
    std::uint32_t results = 1;
    float duration_s = 0;
};

enum class Relation {
    told_twice,
    attempts,
    shards,
    other_name,
    other_host,
    other_folder,
    undecided
};

// Two units that have tests of the same names.
struct Overlap {
    std::size_t tests = 0;             // that both have
    bool agree = true;                 // a test is bad in both or in neither
    bool same_times = true;            // and took as long
    std::array<std::size_t, 2> bad{};  // of these, by each
    bool has_times = false;
};

using Pair = std::pair<std::uint32_t, std::uint32_t>;

// Sets that grow together.
class Sets {
  public:
    explicit Sets(std::size_t count) : parents_(count) {
        std::iota(parents_.begin(), parents_.end(), 0);
    }
    std::uint32_t of(std::uint32_t i) {
        while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
        return i;
    }
    void join(std::uint32_t a, std::uint32_t b) { parents_[of(a)] = of(b); }

  private:
    std::vector<std::uint32_t> parents_;
};

bool is_text(parsers::Dialect dialect) {
    using enum parsers::Dialect;
    return dialect == unittest_text || dialect == pytest_text || dialect == googletest_text;
}

// Where the file says no time of the run, its tests may.
Origin origin_of(const ModuleRecord& part) {
    Origin said = part.origin;
    if (said.started_ms) return said;
    said.zoned = true;
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
        TRY(read_units());
        find_places();
        find_overlaps();
        for (const auto& [pair, overlap] : overlaps_) relate(pair, overlap);
        std::map<std::string, std::vector<std::uint32_t>> by_place;
        for (std::uint32_t i = 0; i < units_.size(); ++i)
            by_place[place_of_job(units_[i])].push_back(i);
        const auto related = related_within(by_place);
        Sets sets(units_.size());
        for (const auto& [name, units] : by_place)
            group(name, units, related_of(related, units), sets);
        return jobs();
    }

  private:
    struct Group {
        std::string name;
        std::vector<std::uint32_t> units;
    };

    Expected<void> read_units() {
        for (std::size_t i = 0; i < files_.size(); ++i) {
            const std::size_t first = units_.size();
            if (files_[i].unread.empty()) {
                const auto mapped = TRY(Mapped::open(files_[i].file));
                std::size_t run = 0;
                (void)parsers::read_result_file(
                    files_[i].dialect, {files_[i].name, mapped.bytes()},
                    [&](ModuleRecord part) { add_run(part, i, first, run++); });
                runs_[files_[i].file] = run;
            }
            if (units_.size() == first) units_.push_back({.file = i});
        }
        return {};
    }

    void add_run(const ModuleRecord& part, std::size_t file, std::size_t first, std::size_t run) {
        const Origin said = origin_of(part);
        const bool follows = units_.size() > first && is_text(files_[file].dialect) &&
                             units_.back().said.job == said.job;
        if (!follows) units_.push_back({.file = file, .said = said});
        units_.back().runs.push_back(run);
        for (const auto& test : part.cases)
            if (!parsers::is_unnamed(test))
                seen_.push_back({std::hash<std::string>()(test.id),
                                 static_cast<std::uint32_t>(units_.size() - 1),
                                 analysis::is_unexpected(test.state, part.framework), 1,
                                 static_cast<float>(test.duration_s)});
    }

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
            const PlaceName own = read_place_name(file.place.stem().string(), NameOf::file);
            take_words(unit, own);
            unit.name = without_ordinals(own.job);
            // The innermost words count.
            const fs::path below = file.place.lexically_relative(shared).parent_path();
            const std::vector<fs::path> parts(below.begin(), below.end());
            for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
                if (*part == kAttemptsFolder) {
                    retried.insert(file.place.parent_path().parent_path());
                    unit.name = "test";
                    continue;
                }
                const PlaceName words = read_place_name(part->string(), NameOf::folder);
                take_words(unit, words);
                if (!words.job.empty()) unit.folders.insert(unit.folders.begin(), words.job);
            }
        }
        // Bazel's file of the last attempt.
        for (Unit& unit : units_)
            if (!unit.said.attempt && retried.contains(files_[unit.file].place.parent_path()))
                unit.said.attempt = kLastAttempt;
    }

    static void take_words(Unit& unit, const PlaceName& words) {
        if (unit.said.shard.empty()) unit.said.shard = words.shard;
        if (!unit.said.attempt) unit.said.attempt = words.attempt;
    }

    void find_overlaps() {
        std::ranges::stable_sort(seen_, {},
                                 [](const Seen& test) { return std::tuple(test.id, test.unit); });
        std::vector<Seen> one;  // of each unit
        for (std::size_t i = 0; i < seen_.size();) {
            one.clear();
            for (const std::size_t id = seen_[i].id; i < seen_.size() && seen_[i].id == id; ++i) {
                if (!one.empty() && one.back().unit == seen_[i].unit) {
                    seen_[i].results += one.back().results;
                    one.pop_back();
                }
                one.push_back(seen_[i]);
            }
            for (const Seen& test : one) {
                units_[test.unit].results += test.results;
                units_[test.unit].bad += test.bad ? 1 : 0;
                ++units_[test.unit].tests;
            }
            for (std::size_t a = 0; a < one.size(); ++a)
                for (std::size_t b = a + 1; b < one.size(); ++b)
                    add(overlaps_[{one[a].unit, one[b].unit}], one[a], one[b]);
        }
        seen_ = {};
    }

    static void add(Overlap& overlap, const Seen& a, const Seen& b) {
        ++overlap.tests;
        overlap.agree = overlap.agree && a.bad == b.bad;
        overlap.same_times = overlap.same_times && a.duration_s == b.duration_s;
        overlap.has_times = overlap.has_times || a.duration_s > 0;
        overlap.bad[0] += a.bad ? 1 : 0;
        overlap.bad[1] += b.bad ? 1 : 0;
    }

    void relate(const Pair& pair, const Overlap& overlap) {
        Unit &a = units_[pair.first], &b = units_[pair.second];
        const Relation relation = relation_of(pair, overlap);
        relations_.emplace_back(pair, relation);
        if (relation == Relation::other_name) by_name_ = true;
        if (relation == Relation::other_folder) {
            const auto apart = std::mismatch(a.folders.begin(), a.folders.end(), b.folders.begin(),
                                             b.folders.end());
            by_folder_.insert(static_cast<std::size_t>(apart.first - a.folders.begin()));
        }
        if (relation != Relation::undecided) return;
        a.undecided = shown(b, a);
        b.undecided = shown(a, b);
    }

    // A file as it is told apart from another one.
    [[nodiscard]] std::string shown(const Unit& unit, const Unit& other) const {
        const ImportedFile &file = files_[unit.file], &beside = files_[other.file];
        if (unit.file == other.file) return fmt::format("another run in {}", file.name);
        if (file.place.filename() != beside.place.filename()) return file.place.filename().string();
        return file.place.lexically_relative(file.place.parent_path().parent_path()).string();
    }

    [[nodiscard]] static bool is_before(const Unit& a, const Unit& b) {
        return a.said.ended_ms && b.said.started_ms && a.said.zoned == b.said.zoned &&
               *a.said.ended_ms <= *b.said.started_ms && *a.said.started_ms < *b.said.started_ms;
    }

    // Whether `later` ran nothing but tests that failed in `earlier`, on the same host.
    [[nodiscard]] bool reruns(std::uint32_t earlier, std::uint32_t later, const Overlap& overlap,
                              std::size_t bad) const {
        const Unit &a = units_[earlier], &b = units_[later];
        return is_before(a, b) && !a.said.host.empty() && a.said.host == b.said.host &&
               overlap.tests == b.tests && bad == overlap.tests && overlap.tests < a.tests;
    }

    // The first row that holds decides.
    [[nodiscard]] Relation relation_of(const Pair& pair, const Overlap& overlap) const {
        const Unit &a = units_[pair.first], &b = units_[pair.second];
        const parsers::Dialect of_a = files_[a.file].dialect, of_b = files_[b.file].dialect;
        const auto attempt = [](const Unit& unit) { return unit.said.attempt.value_or(-1); };
        const bool same_shard = a.said.shard == b.said.shard;
        const bool same_attempt = attempt(a) == attempt(b);
        const bool copied = of_a == of_b && overlap.same_times && overlap.has_times &&
                            a.tests == b.tests && a.said.started_ms == b.said.started_ms;
        const bool backwards =
            attempt(a) < attempt(b) ? is_before(b, a) : !same_attempt && is_before(a, b);
        const bool host_differs = of_a == of_b && !a.said.host.empty() && !b.said.host.empty() &&
                                a.said.host != b.said.host;
        const bool rerun = reruns(pair.first, pair.second, overlap, overlap.bad[0]) ||
                           reruns(pair.second, pair.first, overlap, overlap.bad[1]);
        const bool ordered = is_before(a, b) || is_before(b, a);
        const bool same_name = a.name == b.name;
        using enum Relation;
        const std::array<std::pair<bool, Relation>, 9> rows{{
            {a.said.job != b.said.job, other_name},
            {a.folders != b.folders, other_folder},
            {a.file != b.file && same_shard && same_attempt && overlap.agree &&
                 (of_a != of_b || copied),
             told_twice},
            {!same_shard,
             a.said.shard.empty() || b.said.shard.empty() || !same_name ? undecided : shards},
            {!same_attempt, backwards || !same_name ? undecided : attempts},
            {host_differs, other_host},
            {(same_name && ordered) || rerun, attempts},
            {a.file == b.file && is_text(of_a), attempts},
            {true, undecided},
        }};
        return std::ranges::find(rows, true, &std::pair<bool, Relation>::first)->second;
    }

    // Its job's name, as far as names and folders tell jobs apart.
    [[nodiscard]] std::string place_of_job(const Unit& unit) const {
        std::vector<std::string> folders, words;
        for (const std::size_t level : by_folder_)
            if (level < unit.folders.size()) folders.push_back(unit.folders[level]);
        if (by_name_ || !files_[unit.file].job.empty()) words.push_back(unit.said.job);
        words.push_back(fmt::format("{}", fmt::join(folders, "/")));
        std::erase(words, std::string());
        return printable(fmt::format("{}", fmt::join(words, ", ")));
    }

    using Related = std::vector<std::pair<Pair, Relation>>;

    // The relations within each of the sets, by its first unit.
    template <class UnitSets>
    [[nodiscard]] std::map<std::uint32_t, Related> related_within(const UnitSets& sets) const {
        std::vector<std::uint32_t> set_of(units_.size());
        for (const auto& [name, units] : sets)
            for (const std::uint32_t unit : units) set_of[unit] = units.front();
        std::map<std::uint32_t, Related> related;
        for (const auto& relation : relations_)
            if (const auto [a, b] = relation.first; set_of[a] == set_of[b])
                related[set_of[a]].push_back(relation);
        return related;
    }

    static const Related& related_of(const std::map<std::uint32_t, Related>& related,
                                     const std::vector<std::uint32_t>& units) {
        static const Related kNone;
        const auto found = related.find(units.front());
        return found == related.end() ? kNone : found->second;
    }

    // Units of one place are jobs of their own where hosts tell them apart, or nothing does.
    void group(const std::string& name, const std::vector<std::uint32_t>& units,
               const Related& related, Sets& sets) {
        std::set<std::uint32_t> apart;
        for (const auto& [pair, relation] : related) {
            if (relation == Relation::undecided || relation == Relation::other_host)
                apart.insert({pair.first, pair.second});
            else
                sets.join(pair.first, pair.second);
        }
        std::set<std::uint32_t> sets_apart;
        for (const std::uint32_t unit : apart) sets_apart.insert(sets.of(unit));
        std::map<std::uint32_t, Group> groups;  // by their set
        constexpr std::uint32_t kRest = std::numeric_limits<std::uint32_t>::max();
        for (const std::uint32_t unit : units) {
            const bool alone = sets_apart.contains(sets.of(unit));
            Group& found = groups[alone ? sets.of(unit) : kRest];
            if (found.units.empty()) found.name = alone ? name_apart(name, units_[unit]) : name;
            found.units.push_back(unit);
        }
        for (auto& [set, found] : groups) groups_.push_back(std::move(found));
    }

    [[nodiscard]] std::string name_apart(const std::string& name, const Unit& unit) const {
        const ImportedFile& file = files_[unit.file];
        const auto of_file = std::ranges::count(units_, unit.file, &Unit::file);
        const bool by_host = of_file > 1 && !unit.said.host.empty();
        const std::string own = by_host              ? unit.said.host
                                : file.place.empty() ? file.name
                                                     : file.place.filename().string();
        return printable(name.empty() ? own : name + ", " + own);
    }

    // The job in which most tests broke comes last: it is the latest run.
    std::vector<ImportJob> jobs() {
        std::set<std::string> names;
        std::vector<std::pair<std::size_t, ImportJob>> sorted;
        std::ranges::sort(groups_, {}, &Group::name);
        move_unread();
        const auto related = related_within(groups_);
        for (Group& found : groups_) {
            std::string name = found.name.empty() && groups_.size() > 1 ? "other" : found.name;
            for (int n = 2; !names.insert(name).second; ++n)
                name = fmt::format("{} ({})", found.name.empty() ? "other" : found.name, n);
            std::size_t bad = 0;
            for (const std::uint32_t i : found.units) bad += units_[i].bad;
            sorted.emplace_back(bad, make_job(name, found.units, related_of(related, found.units)));
        }
        std::ranges::stable_sort(sorted, {}, &std::pair<std::size_t, ImportJob>::first);
        std::vector<ImportJob> made;
        for (auto& [bad, job] : sorted) made.push_back(std::move(job));
        return made;
    }

    // Files that could not be read are no job: the first job says so.
    void move_unread() {
        const auto has_results = [&](const Group& found) {
            return std::ranges::any_of(found.units,
                                       [&](std::uint32_t i) { return !units_[i].runs.empty(); });
        };
        const auto first = std::ranges::find_if(groups_, has_results);
        if (first == groups_.end()) return;
        for (Group& found : groups_)
            if (!has_results(found))
                first->units.insert(first->units.end(), found.units.begin(), found.units.end());
        std::erase_if(groups_, [&](const Group& found) { return !has_results(found); });
    }

    // The units of a job in the order of their attempts.
    ImportJob make_job(const std::string& name, std::vector<std::uint32_t> units,
                       const Related& related) {
        std::map<std::uint32_t, std::vector<std::uint32_t>> repeats;
        bool shards_overlap = false;
        for (const auto& [pair, relation] : related) {
            shards_overlap = shards_overlap || relation == Relation::shards;
            if (relation != Relation::told_twice) continue;
            const std::uint32_t twice = repeating_of(pair);
            repeats[twice].push_back(twice == pair.first ? pair.second : pair.first);
        }
        std::ranges::sort(units, {}, [&](std::uint32_t i) {
            const Unit& unit = units_[i];
            return std::tuple(unit.said.attempt.value_or(-1), repeats.contains(i),
                              unit.said.started_ms.value_or(0), files_[unit.file].place, i);
        });
        ImportJob job{name, {}};
        std::map<std::uint32_t, std::size_t> places;
        for (const std::uint32_t i : units) {
            const Unit& unit = units_[i];
            ImportedFile file = files_[unit.file];
            file.runs = unit.runs;
            if (shards_overlap) file.shard = unit.said.shard;
            for (const std::uint32_t other : repeats[i])
                if (places.contains(other)) file.repeats.push_back(places[other]);
            file.undecided = unit.undecided;
            if (!job.files.empty() && goes_on(job.files.back(), file))
                job.files.back().runs.push_back(file.runs.front());
            else
                job.files.push_back(std::move(file));
            places[i] = job.files.size() - 1;
        }
        for (ImportedFile& file : job.files)
            if (file.runs.size() == runs_of(file)) file.runs.clear();
        return job;
    }

    // Whether an entry of a job is the next run of the file before it, read alike.
    [[nodiscard]] static bool goes_on(const ImportedFile& before, const ImportedFile& file) {
        return before.file == file.file && before.unread.empty() && !file.runs.empty() &&
               before.runs.back() < file.runs.front() && before.shard == file.shard &&
               before.repeats == file.repeats && before.undecided == file.undecided;
    }

    [[nodiscard]] std::size_t runs_of(const ImportedFile& file) const {
        const auto count = runs_.find(file.file);
        return count == runs_.end() ? 0 : count->second;
    }

    // The one that has fewer results; of equal ones the text, which tells less of each.
    [[nodiscard]] std::uint32_t repeating_of(const Pair& pair) const {
        const auto rank = [&](std::uint32_t i) {
            const Unit& unit = units_[i];
            const ImportedFile& file = files_[unit.file];
            return std::tuple(unit.results > unit.tests ? 0 : 1, is_text(file.dialect), file.place);
        };
        return rank(pair.first) < rank(pair.second) ? pair.second : pair.first;
    }

    std::vector<ImportedFile> files_;
    std::vector<Unit> units_;
    std::vector<Seen> seen_;
    std::map<fs::path, std::size_t> runs_;        // how many a file has
    std::map<Pair, Overlap> overlaps_;
    std::vector<std::pair<Pair, Relation>> relations_;
    std::vector<Group> groups_;
    // Facts that tell jobs apart.
    bool by_name_ = false;
    std::set<std::size_t> by_folder_;  // levels of folders
};

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
