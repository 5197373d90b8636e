#include "runner/run/expectations/open_expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "runner/analysis/expectations/pattern.h"
#include "runner/base/files.h"
#include "suites/expectations.h"

namespace compat::run {

Expected<OpenExpectations> open_expectations(const Ready& ready) {
    const config::Value& named = ready.settings[config::Setting::expectations];
    OpenExpectations opened;
    if (named.text == config::kNoFile) return opened;
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
    const auto text = TRY(read_file(opened.file));
    if (named.text.empty() && ready.suite.by_convention && !suites::has_expectations(text)) {
        opened.note = fmt::format(
            "{} was not read: it is not the runner's; pass --expectations FILE to name another",
            opened.file.string());
        opened.file.clear();
        return opened;
    }
    auto entries = suites::parse_expectations(text, opened.file);
    if (!entries)
        return tl::unexpected(named.text.empty() ? suites::advise_to_name_another(entries.error())
                                                 : entries.error());
    opened.entries = std::move(*entries);
    return opened;
}

Expected<void> mark_selected(std::vector<Expectation>& entries, const Ready& ready,
                             const plan::Selection& selection) {
    if (entries.empty()) return {};
    // -k and pytest's own options may leave out any test.
    const bool filters = !selection.keyword.empty() || !selection.options.empty();
    const auto plan = plan_for(ready, selection);
    if (!plan) return tl::unexpected(plan.error());
    std::map<std::string_view, bool> complete;  // modules of the plan
    for (const auto& job : plan->jobs) complete[job.module] = job.only.empty();
    return plan::list_modules(ready.suite, ready.child.root)
        .map([&](const std::vector<plan::ModuleFile>& modules) {
            std::vector<std::string_view> left_out;  // modules of which tests may be left out
            for (const auto& module : modules) {
                if (module.excluded || module.unreadable != 0) continue;
                const auto planned = complete.find(module.path);
                if (planned == complete.end() || !planned->second) left_out.push_back(module.path);
            }
            for (Expectation& entry : entries) {
                const analysis::ModulePattern pattern(entry.test);
                entry.selected = !filters && std::none_of(left_out.begin(), left_out.end(),
                                                          [&](const std::string_view module) {
                                                              return pattern.could_match_in(module);
                                                          });
            }
        });
}

}  // namespace compat::run
