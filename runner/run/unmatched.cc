#include "runner/run/unmatched.h"

#include <set>

#include "runner/base/nearest.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/plan/targets.h"
#include "runner/run/collect.h"

namespace compat::run {

using display::print;
using parsers::ModuleOutcome;

namespace {

void add_selecting_ids(std::set<std::string>& ids, const parsers::ModuleRecord& record) {
    const auto framework = framework_of(record.framework).value_or(Framework::unittest);
    for (const auto& test : record.cases) {
        if (test.pseudo) continue;
        for (auto& id : plan::selecting_ids(test.id, framework)) ids.insert(std::move(id));
    }
}

// For each id "did you mean …?", or nothing.
std::vector<std::string> suggestions(const std::vector<std::string>& ids, const Ready& ready) {
    constexpr size_t kMost = 3;
    std::set<std::string> modules;
    for (const auto& id : ids) modules.insert(id.substr(0, id.find("::")));
    std::vector<plan::Job> jobs;
    for (const auto& module : modules) jobs.push_back({module, {}, 0});
    std::set<std::string> known;
    for (const auto& record :
         collect(ready, {}, jobs).value_or(std::vector<parsers::ModuleRecord>{}))
        add_selecting_ids(known, record);
    const std::vector<std::string> all(known.begin(), known.end());
    std::vector<std::string> words;
    for (const auto& id : ids) words.push_back(did_you_mean(nearest(id, all, kMost)));
    return words;
}

}  // namespace

std::vector<std::string> ids_without_tests(const std::vector<std::string>& requested,
                                           const parsers::ModuleRecord& record) {
    std::vector<std::string> unmatched;
    if (requested.empty() ||
        (record.outcome != ModuleOutcome::completed && record.outcome != ModuleOutcome::no_tests))
        return unmatched;
    std::set<std::string> ids;
    for (const auto& test : record.cases)
        if (test.pseudo) return unmatched;
    add_selecting_ids(ids, record);
    for (const std::string& id : requested)
        if (!ids.contains(id)) unmatched.push_back(id);
    return unmatched;
}

void print_unmatched_ids(const std::vector<std::string>& ids, const Ready& ready) {
    if (ids.empty()) return;
    const auto words = suggestions(ids, ready);
    for (size_t i = 0; i < ids.size(); ++i)
        print(stderr, "runner: no test is named {}: {}\n", printable(ids[i]),
              words[i].empty() ? "`runner list --cases SUITE MODULE` prints the ids"
                               : printable(words[i]));
}

void print_unmatched_keyword(const std::string& keyword) {
    if (!keyword.empty())
        print(stderr, "runner: -k {} matches no test: `runner list --cases SUITE` prints the ids\n",
              printable(keyword));
}

}  // namespace compat::run
