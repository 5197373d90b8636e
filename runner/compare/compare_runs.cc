#include "runner/compare/compare_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "reports/generated.h"
#include "reports/overview/blind_spots.h"
#include "runner/analysis/comparison.h"
#include "runner/analysis/device_ids.h"
#include "runner/base/clock.h"
#include "runner/base/secrets.h"
#include "runner/compare/noise.h"
#include "runner/display/device_lines.h"
#include "runner/store/compared_runs.h"

namespace compat::compare {

using analysis::ChangeClass;
using analysis::ComparedTest;
using parsers::ModuleOutcome;
using reports::ChangedTest;

namespace {

constexpr std::size_t kPastRuns = 10;  // whose counts say how much counts differ by themselves
constexpr int kPastRunsSearched = 50;
constexpr std::uint32_t kAbsentRow = ~std::uint32_t{0};

using Texts = std::unordered_set<std::string>;  // signatures, each held once

struct KnownFailure {
    std::string_view signature;
    std::optional<parsers::Cause> cause;
    bool blames_generated = false;
};

// One of the two runs: what is known of all its tests.
struct Half {
    StoredSide side;
    store::RunInfo info;
    bool complete = true;
    std::vector<store::VerdictRow> rows;                      // by test
    std::unordered_map<std::int64_t, KnownFailure> failures;  // by result
    std::vector<std::int64_t> flaky;                          // results, sorted
    std::vector<std::int64_t> generated;                      // the same
    std::map<std::string, store::ModuleRow, std::less<>> modules;
    Noise noise;
    store::StateCounts states{};  // of its tests: a row may stand for many without names
    reports::BlindSpotCounts blind_spots{};

    [[nodiscard]] std::int64_t tests() const {
        return std::accumulate(states.begin(), states.end(), std::int64_t{0});
    }

    // The device that its ids may name.
    [[nodiscard]] std::string device() const { return info.simulated.value_or(info.device); }
};

// By cause, and by the states for which no failure is needed.
void count_blind_spots(const std::vector<store::VerdictRow>& rows,
                       reports::BlindSpotCounts& counts) {
    for (const store::VerdictRow& row : rows)
        if (const auto spot = reports::blind_spot_of(row.state, nullptr)) counts.add(*spot);
}
void count_generated(const std::vector<std::int64_t>& results, reports::BlindSpotCounts& counts) {
    counts.add(reports::Blind::generated, static_cast<std::int64_t>(results.size()));
}
void count_blind_spot(const store::FailureRow& failure, reports::BlindSpotCounts& counts) {
    if (!failure.cause || reports::blind_spot_of(failure.state, nullptr)) return;
    const parsers::Diagnosis diagnosis{*failure.cause, failure.error_class, {}, failure.rule, {}};
    if (const auto spot = reports::blind_spot_of(failure.state, &diagnosis)) counts.add(*spot);
}

Expected<Half> read_half(const StoredSide& side, Texts& texts) {
    const auto run = side.store->load_run(side.id);
    if (!run) return tl::unexpected(run.error());
    auto rows = verdict_rows(*side.store, side.id);
    if (!rows) return tl::unexpected(rows.error());
    auto flaky = flaky_results(*side.store, side.id);
    if (!flaky) return tl::unexpected(flaky.error());
    auto generated = generated_results(*side.store, side.id);
    if (!generated) return tl::unexpected(generated.error());
    auto modules = module_rows(*side.store, side.id);
    if (!modules) return tl::unexpected(modules.error());
    const auto extent = side.store->extent_of(side.id);
    if (!extent) return tl::unexpected(extent.error());
    auto noise = noise_of(side);
    if (!noise) return tl::unexpected(noise.error());
    Half half{side,
              run->info,
              run->end && run->end->complete,
              std::move(*rows),
              {},
              std::move(*flaky),
              std::move(*generated),
              {},
              std::move(*noise),
              extent->states};
    std::sort(half.flaky.begin(), half.flaky.end());
    std::sort(half.generated.begin(), half.generated.end());
    count_generated(half.generated, half.blind_spots);
    for (auto& module : *modules) half.modules.emplace(module.path, std::move(module));
    count_blind_spots(half.rows, half.blind_spots);
    const auto seen = each_failure(*side.store, side.id, [&](store::FailureRow failure) {
        count_blind_spot(failure, half.blind_spots);
        const std::string& signature = *texts.insert(std::move(failure.signature)).first;
        half.failures.emplace(
            failure.result,
            KnownFailure{signature, failure.cause, reports::blames_generated(failure.rule)});
    });
    if (!seen) return tl::unexpected(seen.error());
    return half;
}

reports::ComparedRun described(const Half& half) {
    reports::ComparedRun run{half.info.id,
                             half.info.suite,
                             iso8601(half.info.started),
                             half.info.torch,
                             display::describe_way(half.info),
                             half.info.commit,
                             half.complete,
                             static_cast<std::int64_t>(half.modules.size()),
                             half.tests(),
                             half.states,
                             half.blind_spots.spots()};
    return run;
}

// Rows of one test in the two runs; kAbsentRow: the run does not have it.
struct RowPair {
    std::uint32_t baseline = kAbsentRow, run = kAbsentRow;
};

// In one database a test has one row for all runs, unless a run of another device names the device.
void pair_by_row(const Half& a, const Half& b, std::vector<RowPair>& pairs) {
    std::uint32_t i = 0, j = 0;
    while (i < a.rows.size() || j < b.rows.size()) {
        const bool has_a = i < a.rows.size(), has_b = j < b.rows.size();
        RowPair& pair = pairs.emplace_back();
        const bool take_a = has_a && (!has_b || a.rows[i].test <= b.rows[j].test);
        const bool take_b = has_b && (!has_a || b.rows[j].test <= a.rows[i].test);
        if (take_a) pair.baseline = i++;
        if (take_b) pair.run = j++;
    }
}

void leave_unpaired(const Half& a, const Half& b, std::vector<RowPair>& pairs) {
    for (std::uint32_t i = 0; i < a.rows.size(); ++i) pairs.push_back({i, kAbsentRow});
    for (std::uint32_t i = 0; i < b.rows.size(); ++i) pairs.push_back({kAbsentRow, i});
}

Expected<std::vector<std::string>> ids_of_rows(const Half& half,
                                               const std::vector<std::uint32_t>& rows) {
    std::vector<std::int64_t> tests(rows.size());
    std::transform(rows.begin(), rows.end(), tests.begin(),
                   [&](std::uint32_t row) { return half.rows[row].test; });
    return test_ids(*half.side.store, tests);
}

// Pairs tests of either run alone by their ids, without the device where the runs' differ. Returns
// how many tests have the id of another test of their run.
Expected<std::int64_t> pair_by_id(const Half& a, const Half& b, std::vector<RowPair>& pairs) {
    const auto alone = std::stable_partition(pairs.begin(), pairs.end(), [](const RowPair& pair) {
        return pair.baseline != kAbsentRow && pair.run != kAbsentRow;
    });
    std::vector<std::uint32_t> only_a, only_b;
    for (auto at = alone; at != pairs.end(); ++at)
        at->baseline != kAbsentRow ? only_a.push_back(at->baseline) : only_b.push_back(at->run);
    pairs.erase(alone, pairs.end());
    if (only_a.empty() || only_b.empty()) {
        for (const std::uint32_t row : only_a) pairs.push_back({row, kAbsentRow});
        for (const std::uint32_t row : only_b) pairs.push_back({kAbsentRow, row});
        return 0;
    }
    auto ids_a = ids_of_rows(a, only_a), ids_b = ids_of_rows(b, only_b);
    if (!ids_a) return tl::unexpected(ids_a.error());
    if (!ids_b) return tl::unexpected(ids_b.error());
    const bool devices_differ = a.device() != b.device();
    std::int64_t duplicates = 0;
    std::unordered_map<std::string, std::size_t> places;  // in `pairs`
    places.reserve(std::max(only_a.size(), only_b.size()));
    const auto put_at = [&](std::string key, std::uint32_t row, std::uint32_t RowPair::*member) {
        const auto [at, added] = places.try_emplace(std::move(key), pairs.size());
        if (added) pairs.emplace_back();
        std::uint32_t& place = pairs[at->second].*member;
        if (place != kAbsentRow) return false;
        place = row;
        return true;
    };
    // `[cuda]` and `[cuda:0]` of one run are two tests: the second keeps its own id.
    const auto put = [&](const Half& half, std::uint32_t row, std::uint32_t RowPair::*member,
                         std::string& id) {
        const bool done =
            devices_differ && put_at(analysis::without_device(id, half.device()), row, member);
        if (!done && !put_at(std::move(id), row, member)) ++duplicates;
    };
    for (std::size_t i = 0; i < only_a.size(); ++i)
        put(a, only_a[i], &RowPair::baseline, (*ids_a)[i]);
    for (std::size_t i = 0; i < only_b.size(); ++i) put(b, only_b[i], &RowPair::run, (*ids_b)[i]);
    return duplicates;
}

ComparedTest compared_test(const Half& half, std::uint32_t row) {
    const store::VerdictRow& verdict = half.rows[row];
    ComparedTest test{verdict.state, {}, {}};
    if (const auto at = half.failures.find(verdict.result); at != half.failures.end()) {
        test.signature = at->second.signature;
        test.cause = at->second.cause;
        test.blames_generated = at->second.blames_generated;
    }
    test.generated =
        std::binary_search(half.generated.begin(), half.generated.end(), verdict.result);
    test.flaky = std::binary_search(half.flaky.begin(), half.flaky.end(), verdict.result);
    return test;
}

std::string_view module_of(std::string_view id) { return id.substr(0, id.find("::")); }

// Outcomes that keep a module's tests from running, for no fault of the suite.
bool is_accident(ModuleOutcome outcome) {
    return outcome == ModuleOutcome::spawn_failed || outcome == ModuleOutcome::interrupted ||
           outcome == ModuleOutcome::not_run || outcome == ModuleOutcome::timed_out;
}

// Why a run lacks the test `id`: how its module ended there.
struct Lost {
    bool by_accident = false;
    std::string why;
};
Lost why_lost(const Half& half, std::string_view id) {
    const auto at = half.modules.find(module_of(id));
    if (at == half.modules.end()) return {false, "its module is not there"};
    const store::ModuleRow& module = at->second;
    if (module.collected || module.outcome == ModuleOutcome::no_tests)
        return {false, "its module does not have it"};
    return {is_accident(module.outcome),
            fmt::format("its module ended as {}{}", name_of(module.outcome),
                        module.reason.empty() ? "" : ": " + module.reason)};
}

// `id` is the test's in either run: its module is the same.
bool is_lost_by_accident(const Half& half, const std::optional<ComparedTest>& test,
                         std::string_view id) {
    if (!test) return why_lost(half, id).by_accident;
    const auto module = half.modules.find(module_of(id));
    return test->state == parsers::State::not_run && module != half.modules.end() &&
           is_accident(module->second.outcome);
}

// Which of the two results says why a test has its class.
enum class Speaks { run, baseline, neither };
Speaks who_speaks(const analysis::TestInTwoRuns& test, ChangeClass change) {
    switch (change) {
        case ChangeClass::regressed:
        case ChangeClass::new_failing:
        case ChangeClass::still_failing_changed:
        case ChangeClass::newly_skipped:
            return Speaks::run;
        case ChangeClass::fixed:
        case ChangeClass::newly_run:
            return Speaks::baseline;
        case ChangeClass::spurious:
            if (test.run && analysis::ended_by_accident(*test.run)) return Speaks::run;
            return test.baseline && analysis::ended_by_accident(*test.baseline) ? Speaks::baseline
                                                                                : Speaks::neither;
        default:
            return Speaks::neither;
    }
}

// A test that may differ, on its way to a ChangedTest.
struct Candidate {
    RowPair pair;
    analysis::TestInTwoRuns test;
    ChangeClass change = ChangeClass::unchanged;
    std::string id_in_baseline{}, id_in_run{};
};

// Whether states alone show that nothing changed: good or idle in both runs.
bool is_calm(const Half& a, const Half& b, const RowPair& pair) {
    if (pair.baseline == kAbsentRow || pair.run == kAbsentRow) return false;
    const auto before = analysis::kind_of(a.rows[pair.baseline].state);
    if (before != analysis::kind_of(b.rows[pair.run].state) ||
        before == analysis::StateKind::broken)
        return false;
    return !std::binary_search(b.flaky.begin(), b.flaky.end(), b.rows[pair.run].result);
}

Expected<void> add_ids(const Half& half, std::vector<Candidate>& candidates,
                       std::uint32_t RowPair::*row, std::string Candidate::*id) {
    std::vector<std::uint32_t> rows;
    for (const Candidate& c : candidates)
        if (c.pair.*row != kAbsentRow) rows.push_back(c.pair.*row);
    auto ids = ids_of_rows(half, rows);
    if (!ids) return tl::unexpected(ids.error());
    auto next = ids->begin();
    for (Candidate& c : candidates)
        if (c.pair.*row != kAbsentRow) c.*id = std::move(*next++);
    return {};
}

// Where the runs ran different parts of the suite, a test of one alone says nothing. Returns how
// many went.
std::int64_t drop_tests_not_asked_for(const Half& a, const Half& b,
                                      std::vector<Candidate>& candidates) {
    if (a.info.subset == b.info.subset) return 0;
    const AskedFor asked_of_a(a.info.subset), asked_of_b(b.info.subset);
    const auto was_asked = [](const Half& half, const AskedFor& asked, const std::string& id) {
        return asked(id, half.modules.contains(module_of(id)));
    };
    return std::erase_if(candidates, [&](const Candidate& c) {
        if (!c.test.run) return !was_asked(b, asked_of_b, c.id_in_baseline);
        return !c.test.baseline && !was_asked(a, asked_of_a, c.id_in_run);
    });
}

// Whether it stood for a module that could not be loaded before and can be now.
bool is_mended_module(const Half& b, const Candidate& c) {
    if (c.test.run || !c.id_in_baseline.ends_with("::<module>") ||
        analysis::kind_of(c.test.baseline->state) != analysis::StateKind::broken)
        return false;
    const auto module = b.modules.find(module_of(c.id_in_baseline));
    return module != b.modules.end() && module->second.collected;
}

// Sets classes; drops candidates whose class is not listed.
void classify(const Half& a, const Half& b, std::vector<Candidate>& candidates,
              analysis::ClassCounts& counts) {
    for (Candidate& c : candidates) {
        const std::string& id = c.test.run ? c.id_in_run : c.id_in_baseline;
        c.test.lost_by_accident =
            is_lost_by_accident(a, c.test.baseline, id) || is_lost_by_accident(b, c.test.run, id);
        c.change = is_mended_module(b, c) ? ChangeClass::fixed : change_class(c.test);
        ++counts[static_cast<std::size_t>(c.change)];
    }
    std::erase_if(candidates, [](const Candidate& c) { return !row_of(c.change).differs; });
}

// How the test is lost or new, or why it is flaky.
std::string why_without_result(const Half& a, const Half& b, const Candidate& c) {
    if (c.change == ChangeClass::flaky)
        return c.test.noisy ? "its result differs between runs that differ in nothing"
                            : "passed only when retried";
    if (c.change == ChangeClass::spurious && c.test.run && c.test.baseline)
        return "its module did not get to it in one of the runs";
    if (!c.test.run) return why_lost(b, c.id_in_baseline).why;
    if (!c.test.baseline)
        return a.modules.contains(module_of(c.id_in_run)) ? "new in its module"
                                                          : "its module is new";
    return {};
}

Expected<std::vector<ChangedTest>> changed_tests(const Half& a, const Half& b,
                                                 std::vector<Candidate> candidates) {
    std::vector<std::int64_t> of_run, of_baseline;
    for (const Candidate& c : candidates) {
        const Speaks speaks = who_speaks(c.test, c.change);
        if (speaks == Speaks::run) of_run.push_back(b.rows[c.pair.run].result);
        if (speaks == Speaks::baseline) of_baseline.push_back(a.rows[c.pair.baseline].result);
    }
    auto in_run = result_details(*b.side.store, of_run);
    if (!in_run) return tl::unexpected(in_run.error());
    auto in_baseline = result_details(*a.side.store, of_baseline);
    if (!in_baseline) return tl::unexpected(in_baseline.error());
    auto next_in_run = in_run->begin(), next_in_baseline = in_baseline->begin();
    std::vector<ChangedTest> tests;
    tests.reserve(candidates.size());
    const std::vector<std::string> secrets = own_secret_values();
    for (Candidate& c : candidates) {
        ChangedTest& test = tests.emplace_back();
        test.change = c.change;
        if (c.test.baseline) test.baseline = c.test.baseline->state;
        if (c.test.run) test.run = c.test.run->state;
        const Speaks speaks = who_speaks(c.test, c.change);
        if (speaks == Speaks::neither) {
            test.why = why_without_result(a, b, c);
        } else {
            const bool is_run = speaks == Speaks::run;
            store::ResultDetail& detail = is_run ? *next_in_run++ : *next_in_baseline++;
            const ComparedTest& side = is_run ? *c.test.run : *c.test.baseline;
            test.cause = side.cause;
            test.signature = mask_secrets(side.signature, secrets);
            test.why =
                detail.key_line.empty() ? std::move(detail.reason) : std::move(detail.key_line);
            test.log = std::move(detail.log);
            test.pseudo = detail.pseudo;
        }
        test.why = mask_secrets(test.why, secrets);
        if (c.id_in_baseline != c.id_in_run && c.test.baseline && c.test.run)
            test.baseline_id = c.id_in_baseline;
        test.id = c.test.run ? std::move(c.id_in_run) : std::move(c.id_in_baseline);
    }
    return tests;
}

// The fingerprint with what else a run was asked for.
std::string whole_environment(const store::RunInfo& info) {
    auto json = nlohmann::ordered_json::parse(info.fingerprint, nullptr, false);
    if (!json.is_object()) return {};
    json["suite"] = info.suite;
    json["framework"] = info.framework;
    if (!info.argv.empty())
        json["command"] = fmt::format("{}", fmt::join(info.argv.begin() + 1, info.argv.end(), " "));
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void compare_environments(const Half& a, const Half& b, reports::Comparison& into) {
    into.environment_known = analysis::has_fingerprint(a.info.fingerprint) &&
                             analysis::has_fingerprint(b.info.fingerprint);
    if (into.environment_known)
        into.environment =
            analysis::environment_changes(whole_environment(a.info), whole_environment(b.info));
}

// The past: runs of the same command line before `b`.
Expected<void> compare_counts(const Half& a, const Half& b, reports::Comparison& into) {
    if (a.info.subset != b.info.subset) return {};
    const auto past = comparable_runs(*b.side.store, b.info, kPastRunsSearched);
    if (!past) return tl::unexpected(past.error());
    std::vector<std::int64_t> modules, tests;
    for (const store::ComparableRun& run : *past) {
        if (run.argv != b.info.argv || modules.size() == kPastRuns) continue;
        modules.push_back(run.modules);
        tests.push_back(run.tests);
    }
    const auto size = [](const auto& all) { return static_cast<std::int64_t>(all.size()); };
    for (const auto& drop :
         {analysis::count_drop("module", size(a.modules), size(b.modules), modules),
          analysis::count_drop("test", a.tests(), b.tests(), tests)})
        if (drop) into.drops.push_back(*drop);
    return {};
}

template <class T>
std::int64_t size_of_union(const std::vector<T>& a, const std::vector<T>& b) {
    std::set<T> all(a.begin(), a.end());
    all.insert(b.begin(), b.end());
    return static_cast<std::int64_t>(all.size());
}

}  // namespace

Expected<reports::ComparedRun> describe_run(const StoredSide& side) {
    const auto run = side.store->load_run(side.id);
    if (!run) return tl::unexpected(run.error());
    const auto rows = verdict_rows(*side.store, side.id);
    if (!rows) return tl::unexpected(rows.error());
    const auto extent = side.store->extent_of(side.id);
    if (!extent) return tl::unexpected(extent.error());
    Half half{side, run->info, run->end && run->end->complete, *rows, {}, {}, {}, {}, {}};
    half.states = extent->states;
    const auto generated = generated_results(*side.store, side.id);
    if (!generated) return tl::unexpected(generated.error());
    count_generated(*generated, half.blind_spots);
    count_blind_spots(half.rows, half.blind_spots);
    const auto seen = each_failure(*side.store, side.id, [&](const store::FailureRow& failure) {
        count_blind_spot(failure, half.blind_spots);
    });
    if (!seen) return tl::unexpected(seen.error());
    auto view = described(half);
    view.modules = extent->modules;
    return view;
}

Expected<reports::Comparison> compare_runs(const StoredSide& baseline, const StoredSide& run) {
    Texts texts;
    const auto a = read_half(baseline, texts);
    if (!a) return tl::unexpected(a.error());
    const auto b = read_half(run, texts);
    if (!b) return tl::unexpected(b.error());

    reports::Comparison comparison;
    comparison.run = described(*b);
    compare_environments(*a, *b, comparison);
    if (const auto counted = compare_counts(*a, *b, comparison); !counted)
        return tl::unexpected(counted.error());
    const bool same_rows = baseline.store == run.store;
    comparison.noise_runs = size_of_union(a->noise.runs, b->noise.runs);
    comparison.noisy_tests =
        same_rows ? size_of_union(a->noise.tests, b->noise.tests)
                  : static_cast<std::int64_t>(a->noise.tests.size() + b->noise.tests.size());

    std::vector<RowPair> pairs;
    if (same_rows && a->device() == b->device())
        pair_by_row(*a, *b, pairs);
    else
        leave_unpaired(*a, *b, pairs);
    const auto duplicates = pair_by_id(*a, *b, pairs);
    if (!duplicates) return tl::unexpected(duplicates.error());
    comparison.duplicates = *duplicates;

    std::vector<Candidate> candidates;
    for (const RowPair& pair : pairs) {
        if (is_calm(*a, *b, pair)) {
            ++comparison.counts[static_cast<std::size_t>(ChangeClass::unchanged)];
            continue;
        }
        Candidate& c = candidates.emplace_back(Candidate{pair, {}});
        if (pair.baseline != kAbsentRow) {
            c.test.baseline = compared_test(*a, pair.baseline);
            c.test.noisy = a->noise.has(a->rows[pair.baseline].test);
        }
        if (pair.run != kAbsentRow) {
            c.test.run = compared_test(*b, pair.run);
            c.test.noisy = c.test.noisy || b->noise.has(b->rows[pair.run].test);
        }
    }
    pairs = {};
    for (const auto& added :
         {add_ids(*a, candidates, &RowPair::baseline, &Candidate::id_in_baseline),
          add_ids(*b, candidates, &RowPair::run, &Candidate::id_in_run)})
        if (!added) return tl::unexpected(added.error());
    comparison.not_asked_for = drop_tests_not_asked_for(*a, *b, candidates);
    classify(*a, *b, candidates, comparison.counts);
    auto tests = changed_tests(*a, *b, std::move(candidates));
    if (!tests) return tl::unexpected(tests.error());
    comparison.tests = std::move(*tests);
    group_tests(comparison);
    return comparison;
}

}  // namespace compat::compare
