#include "parsers/import/gtest/log_and_file.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>

#include "parsers/import/fields.h"
#include "parsers/import/unnamed.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

bool is_disabled(const CaseRecord& c) { return !c.started && c.phase == Phase::setup; }

// A global set-up kept it from beginning. A log names no such test.
bool is_prevented(const CaseRecord& c) { return !c.started && c.phase == Phase::module_setup; }

// Whether both have the same tests with the same results. Disabled tests are not compared: each
// shard's log has all of them, its file its own.
bool is_same_run(const ModuleRecord& log, const ModuleRecord& file) {
    if (!log.finished || !file.finished) return false;
    std::unordered_map<std::string_view, State> named;
    std::int64_t unnamed = 0, disabled = 0;
    for (const CaseRecord& c : log.cases) {
        if (is_unnamed(c))
            unnamed += c.tests;
        else if (!c.pseudo && !is_disabled(c))
            named.emplace(c.name, c.state);
    }
    size_t known = 0;
    for (const CaseRecord& c : file.cases) {
        if (c.pseudo) continue;
        const auto found = named.find(c.name);
        if (is_disabled(c)) {
            ++disabled;
        } else if (found == named.end()) {
            --unnamed;
        } else {
            ++known;
            if (found->second != c.state) return false;
        }
    }
    return known == named.size() && unnamed >= 0 && unnamed <= disabled;
}

// 2: named as the log is, folders and all; 1: without them.
int likeness(std::string_view log, std::string_view file) {
    if (stem_of(log) == stem_of(file)) return 2;
    const auto base = [](std::string_view name) { return name.substr(name.rfind('/') + 1); };
    return stem_of(base(log)) == stem_of(base(file)) ? 1 : 0;
}

// The file's tests, and from the log what failed outside of tests and the reasons of skips, which
// JSON lacks up to 1.14.
ModuleRecord joined(const ModuleRecord& log, ModuleRecord file) {
    std::unordered_map<std::string, size_t> places;
    for (size_t i = 0; i < file.cases.size(); ++i) places.emplace(file.cases[i].name, i);
    bool set_up_failed = false;
    for (const CaseRecord& row : log.cases) {
        const auto known = places.find(row.name);
        if (known != places.end()) {
            std::string& reason = file.cases[known->second].reason;
            if (reason.empty()) reason = row.reason;
        } else if (row.pseudo && !is_unnamed(row)) {
            set_up_failed |= row.phase == Phase::module_setup;
            file.cases.push_back(row);
            file.cases.back().id = file.path + row.id.substr(row.id.find("::"));
        }
    }
    if (set_up_failed)
        for (CaseRecord& c : file.cases)
            if (is_prevented(c)) c.state = State::errored;
    file.collected = tests_in(file.cases);
    // The log answers the file's doubts, and the file names the log's tests.
    file.diagnostics.clear();
    std::copy_if(log.diagnostics.begin(), log.diagnostics.end(),
                 std::back_inserter(file.diagnostics),
                 [](const Diagnostic& said) { return said.message.starts_with(kAmbiguous); });
    return file;
}

}  // namespace

void GoogletestFiles::hold(ModuleRecord part, std::string_view file, size_t number,
                           Dialect dialect) {
    held_.push_back({std::move(part), std::string(file), number, dialect});
}

ModuleRecord GoogletestFiles::completed(ModuleRecord log, std::string_view file) {
    for (const Dialect dialect : {Dialect::googletest_json, Dialect::junit_xml}) {
        std::array<std::vector<size_t>, 3> found;  // by their likeness
        for (size_t i = 0; i < held_.size(); ++i)
            if (held_[i].dialect == dialect && is_same_run(log, held_[i].part))
                found[static_cast<size_t>(likeness(file, held_[i].file))].push_back(i);
        const auto best = std::find_if(found.rbegin(), found.rend(),
                                       [](const auto& places) { return !places.empty(); });
        if (best == found.rend() || best->size() > 1) continue;
        const auto at = held_.begin() + static_cast<std::ptrdiff_t>(best->front());
        log = joined(log, std::move(at->part));
        held_.erase(at);
    }
    return log;
}

std::vector<std::pair<ModuleRecord, size_t>> GoogletestFiles::take_rest() {
    std::vector<std::pair<ModuleRecord, size_t>> rest;
    for (Held& held : held_) rest.emplace_back(std::move(held.part), held.number);
    held_.clear();
    return rest;
}

}  // namespace compat::parsers
