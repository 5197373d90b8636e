#include "runner/run/expectations/open_expectations.h"

#include <algorithm>
#include <map>

#include "runner/analysis/expectations/pattern.h"
#include "suites/expectations.h"

namespace compat::run {

namespace fs = std::filesystem;

Expected<OpenExpectations> open_expectations(const Ready& ready) {
    const config::Value& named = ready.settings[config::Setting::expectations];
    OpenExpectations opened;
    if (named.text.empty())
        opened.file = ready.suite.folder / suites::kExpectationsFile;
    else if (named.source == config::Source::suite)
        opened.file = ready.suite.folder / named.text;
    else
        opened.file = named.text;
    opened.file = fs::absolute(opened.file).lexically_normal();
    std::error_code error;
    if (!fs::exists(opened.file, error)) {
        if (named.text.empty()) return opened;
        return fail(ErrorKind::usage, "no such file of expectations: " + opened.file.string(),
                    "write [] to it; `runner expect update` fills it", named.origin);
    }
    return suites::read_expectations(opened.file).map([&](std::vector<Expectation>&& entries) {
        opened.entries = std::move(entries);
        return std::move(opened);
    });
}

Expected<void> mark_selected(std::vector<Expectation>& entries, const Ready& ready,
                             const plan::Selection& selection) {
    if (entries.empty()) return {};
    // -k and pytest's own options may leave out any test.
    const bool filters = !selection.keyword.empty() || !selection.options.empty();
    plan::Selection whole = selection;
    whole.shard = {};
    const auto plan = plan_for(ready, whole);
    if (!plan) return tl::unexpected(plan.error());
    std::map<std::string_view, bool> complete;  // modules of the plan
    for (const auto& job : plan->jobs) complete[job.module] = job.only.empty();
    return plan::list_modules(ready.suite, ready.child.root)
        .map([&](const std::vector<plan::ModuleFile>& modules) {
            for (Expectation& entry : entries)
                entry.selected =
                    !filters && std::none_of(modules.begin(), modules.end(), [&](const auto& m) {
                        if (m.excluded || m.unreadable != 0) return false;
                        const auto planned = complete.find(m.path);
                        const bool is_complete = planned != complete.end() && planned->second;
                        return !is_complete && analysis::could_match_in(entry.test, m.path);
                    });
        });
}

}  // namespace compat::run
