#include "runner/site/read_tests.h"

#include <algorithm>

#include "runner/analysis/comparison.h"
#include "runner/base/device_kind.h"
#include "runner/base/secrets.h"
#include "runner/store/compared_runs.h"
#include "runner/store/trends.h"

namespace compat::site {

using analysis::StateKind;

namespace {

constexpr std::size_t kRunsOfStrip = 100;
constexpr char kAbsent = ' ';

std::uint32_t first_shown(const Series& series) {
    const std::size_t runs = series.runs.size();
    return static_cast<std::uint32_t>(runs - std::min(runs, kRunsOfStrip));
}

std::optional<parsers::State> state_of(char letter) {
    static const auto kStates = [] {
        std::array<std::optional<parsers::State>, 256> states{};
        for (std::size_t i = 0; i < parsers::kStateNames.size(); ++i) {
            const auto state = static_cast<parsers::State>(i);
            states[static_cast<unsigned char>(reports::strip_letter(state, false))] = state;
        }
        states['r'] = parsers::State::passed;
        return states;
    }();
    return kStates[static_cast<unsigned char>(letter)];
}

analysis::Ledger ledger_of(std::string_view strip, const std::vector<std::uint32_t>& versions) {
    std::vector<analysis::LedgerEntry> entries;
    for (std::size_t run = 0; run < strip.size(); ++run)
        if (const auto state = state_of(strip[run]))
            entries.push_back({static_cast<std::uint32_t>(run), *state, strip[run] == 'r'});
    return analysis::ledger_of(entries, versions);
}

}  // namespace

bool strip_is(char letter, analysis::StateKind kind) {
    const auto state = state_of(letter);
    return state && analysis::kind_of(*state) == kind;
}

reports::SiteRun site_run(const store::RunSummary& run, std::string report) {
    reports::SiteRun site;
    site.id = run.id;
    site.started = run.started;
    site.torch = run.torch;
    site.commit = run.dirty && !run.commit.empty() ? run.commit + "+" : run.commit;
    site.report = std::move(report);
    site.states = run.states;
    site.duration_s = run.end ? run.end->duration_s : 0;
    const bool has_device = run.simulated || is_accelerator(run.device);
    if (run.shim && has_device) {
        site.rate = {reports::RateOf::exercised, run.exercised_good,
                     run.exercised_good + run.exercised_broken};
    } else {
        for (std::size_t i = 0; i < run.states.size(); ++i) {
            const auto kind = analysis::kind_of(static_cast<parsers::State>(i));
            if (kind == analysis::StateKind::idle) continue;
            site.rate.total += run.states[i];
            if (kind == analysis::StateKind::good) site.rate.good += run.states[i];
        }
    }
    return site;
}

struct TestsReader::Rows {
    std::vector<std::string> strips;          // by slot; shorter: absent in what follows
    std::vector<std::int64_t> newest;         // by slot: result in the newest run; 0: none
    std::vector<std::vector<float>> seconds;  // by slot: of the latest runs, oldest first

    // Null: the series does not have the test.
    [[nodiscard]] const std::string* strip(std::uint32_t slot) const {
        return slot < strips.size() && !strips[slot].empty() ? &strips[slot] : nullptr;
    }
    [[nodiscard]] bool is_in_newest(std::uint32_t slot) const {
        return slot < newest.size() && newest[slot] != 0;
    }
};

TestsReader::TestsReader(const store::Store& store, const std::vector<Series>& series,
                         const std::vector<reports::SiteCell>& cells)
    : store_(store), series_(series), cells_(cells), secrets_(own_secret_values()) {
    for (const Series& each : series_) ids_.push_back(each.run_ids());
}

Expected<void> TestsReader::begin() {
    for (const auto& ids : ids_) {
        auto& of_cell = retried_.emplace_back();
        for (const std::string& id : ids) {
            auto results = TRY(store::flaky_results(store_, id));
            std::sort(results.begin(), results.end());
            of_cell.push_back(std::move(results));
        }
    }
    return {};
}

Expected<ChangedBetween> TestsReader::changed(std::size_t cell, std::uint32_t good,
                                              std::uint32_t bad) {
    const auto key = std::tuple(cell, good, bad);
    if (const auto known = changes_.find(key); known != changes_.end()) return known->second;
    auto changed = TRY(changed_between(store_, ids_[cell][good], ids_[cell][bad]));
    return changes_.emplace(key, std::move(changed)).first->second;
}

Expected<reports::SiteTests> TestsReader::read(const TestsPage& page, const SeeTest& see) {
    reports::SiteTests into;
    into.page = page.name;
    into.cells = cells_;
    known_.assign(series_.size(), {});
    on_page_.clear();
    into.older.resize(series_.size());
    for (std::size_t cell = 0; cell < series_.size(); ++cell) {
        const Series& series = series_[cell];
        into.first_run.push_back(first_shown(series));
        auto& runs = into.runs.emplace_back();
        for (std::size_t i = into.first_run.back(); i < series.runs.size(); ++i)
            runs.push_back(site_run(series.runs[i], i + 1 == series.runs.size()
                                                        ? cells_[cell].now.report
                                                        : std::string{}));
    }
    for (const std::string& module : page.modules) TRY(read_module(module, page, see, into));
    return into;
}

Expected<TestsReader::Rows> TestsReader::read_rows(
    std::size_t cell, const std::string& path,
    std::unordered_map<std::int64_t, std::uint32_t>& slots) {
    Rows rows;
    const auto& retried = retried_[cell];
    const std::size_t runs = ids_[cell].size();
    const std::size_t timed = runs - std::min(runs, analysis::kRunsOfGrowth);
    const bool has_growth = runs >= 2;
    const auto see = [&](const store::ModuleResult& row) {
        const std::uint32_t slot =
            slots.try_emplace(row.test, static_cast<std::uint32_t>(slots.size())).first->second;
        if (rows.strips.size() <= slot) {
            rows.strips.resize(slots.size());
            rows.newest.resize(slots.size());
            if (has_growth) rows.seconds.resize(slots.size());
        }
        std::string& strip = rows.strips[slot];
        const auto& again = retried[row.run];
        const char letter = reports::strip_letter(
            row.state,
            !again.empty() && std::binary_search(again.begin(), again.end(), row.result));
        strip.resize(row.run, kAbsent);
        strip += letter;
        if (row.run + 1 == runs) rows.newest[slot] = row.result;
        if (has_growth && row.run >= timed &&
            analysis::kind_of(row.state) == analysis::StateKind::good)
            rows.seconds[slot].push_back(row.duration_s);
    };
    return store::each_module_result(store_, ids_[cell], path, see).map([&] {
        return std::move(rows);
    });
}

Expected<void> TestsReader::name_runs(std::size_t cell, const analysis::Ledger& ledger,
                                      reports::SiteTests& into) {
    const auto name = [&](std::uint32_t run) {
        if (run < into.first_run[cell])
            into.older[cell].try_emplace(run, site_run(series_[cell].runs[run]));
    };
    name(ledger.since);
    if (ledger.last_good) name(*ledger.last_good);
    if (ledger.first_bad) name(*ledger.first_bad);
    if (!ledger.last_good || !ledger.first_bad) return {};
    if (!on_page_.emplace(std::tuple(cell, *ledger.last_good, *ledger.first_bad), true).second)
        return {};
    const auto between = TRY(changed(cell, *ledger.last_good, *ledger.first_bad));
    into.changed.push_back(
        {cell, *ledger.last_good, *ledger.first_bad, between.known, between.environment});
    return {};
}

Expected<std::int32_t> TestsReader::history(std::size_t cell, const std::string& strip,
                                            reports::SiteTests& into) {
    auto& known = known_[cell];
    const auto [at, is_new] = known.try_emplace(strip);
    if (is_new) {
        Known& one = at->second;
        one.ledger = ledger_of(strip, series_[cell].versions);
        one.index = static_cast<std::int32_t>(into.histories.size());
        std::string shown = strip;
        shown.resize(series_[cell].runs.size(), kAbsent);
        into.histories.push_back({shown.substr(into.first_run[cell]), one.ledger,
                                  strip.size() == series_[cell].runs.size()});
        TRY(name_runs(cell, one.ledger, into));
    }
    return at->second.index;
}

Expected<void> TestsReader::add_series(std::size_t cell, const Rows& rows,
                                       const std::vector<std::uint32_t>& slots, const SeeTest& see,
                                       reports::SiteTests::Module& module,
                                       reports::SiteTests& into) {
    const auto is_broken = [&](const std::string* strip) {
        return strip && strip->size() == series_[cell].runs.size() &&
               strip_is(strip->back(), StateKind::broken);
    };
    std::vector<std::int64_t> broken;
    for (const std::uint32_t slot : slots)
        if (is_broken(rows.strip(slot))) broken.push_back(rows.newest[slot]);
    const auto details = TRY(store::result_details(store_, broken));
    auto detail = details.begin();
    auto& histories = module.histories[cell];
    histories.reserve(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::string* strip = rows.strip(slots[i]);
        const auto index = TRY(strip ? history(cell, *strip, into) : Expected<std::int32_t>(-1));
        histories.push_back(index);
        if (!strip) continue;
        std::string error;
        if (is_broken(strip)) {
            error = mask_secrets(detail->key_line.empty() ? detail->reason : detail->key_line,
                                 secrets_);
            module.errors[cell].emplace(static_cast<std::uint32_t>(i), error);
            ++detail;
        }
        see({cell, module.tests[i], *strip, &known_[cell].at(*strip).ledger, error,
             rows.seconds.empty() ? std::nullopt : analysis::growth_of(rows.seconds[slots[i]])});
    }
    return {};
}

Expected<void> TestsReader::read_module(const std::string& path, const TestsPage& page,
                                        const SeeTest& see, reports::SiteTests& into) {
    std::unordered_map<std::int64_t, std::uint32_t> slots;  // by row of the test, from 0
    std::vector<Rows> all;
    for (std::size_t cell = 0; cell < series_.size(); ++cell) {
        auto rows = TRY(read_rows(cell, path, slots));
        all.push_back(std::move(rows));
    }
    std::vector<std::int64_t> tests(slots.size());
    for (const auto& [test, slot] : slots) tests[slot] = test;
    const auto ids = TRY(store::test_ids(store_, tests));

    reports::SiteTests::Module module;
    module.path = path;
    module.errors.resize(series_.size());
    module.histories.resize(series_.size());
    std::vector<std::uint32_t> kept;  // slots on this page
    for (std::uint32_t slot = 0; slot < ids.size(); ++slot) {
        const std::string& id = ids[slot];
        if (!page.has(id)) continue;
        // Tests of old runs only are gone.
        const bool is_there = std::any_of(
            all.begin(), all.end(), [&](const Rows& rows) { return rows.is_in_newest(slot); });
        if (is_there) {
            module.tests.push_back(id);
            kept.push_back(slot);
            continue;
        }
        for (std::size_t cell = 0; cell < all.size(); ++cell)
            if (const auto* strip = all[cell].strip(slot)) see({cell, id, *strip, nullptr, {}, {}});
    }
    for (std::size_t cell = 0; cell < series_.size(); ++cell)
        TRY(add_series(cell, all[cell], kept, see, module, into));
    if (!module.tests.empty()) into.modules.push_back(std::move(module));
    return {};
}

}  // namespace compat::site
