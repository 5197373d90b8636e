// `runner show TEST --issue`: a failing test as Markdown for an issue.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/issue_text.h"
#include "reports/torch_issue.h"
#include "runner/base/secrets.h"
#include "runner/base/version.h"
#include "runner/cli/results/show_test.h"
#include "runner/display/output.h"
#include "runner/store/comparable.h"

namespace compat::cli {

namespace {

struct NewestTorchFirst {
    bool operator()(const std::string& a, const std::string& b) const { return is_older(b, a); }
};

// Equal for runs that differ in nothing but their series and torch.
store::ComparableKey key_without_series(store::RunInfo info) {
    info.series.clear();
    return store::comparable_key(info);
}

// The newest complete run with each older torch, the newest torch first.
Expected<std::vector<std::string>> runs_with_older_torch(const Results& results,
                                                         const store::RunInfo& than) {
    const auto key = key_without_series(than);
    std::map<std::string, std::string, NewestTorchFirst> runs;
    for (const auto& run : TRY(results.store.runs()))
        if (run.end && run.end->complete && is_older(run.torch, than.torch) &&
            key_without_series(run) == key)
            runs.emplace(run.torch, run.id);  // newest runs first
    std::vector<std::string> ids;
    for (auto& [torch, id] : runs) ids.push_back(std::move(id));
    return ids;
}

std::pair<std::string, std::string> environment_of(const store::RunInfo& info) {
    return {fs::path(info.python).parent_path().parent_path().string(), "ENV"};
}

Expected<std::string> issue_of(const Results& results, const std::string& id,
                               const std::string& test) {
    const auto failed = TRY(read_test(results, id, test, {}, true));
    if (!failed.view || !reports::needs_attention(failed.view->state))
        return fail(ErrorKind::usage, fmt::format("{} did not break in {}", test, id),
                    "name a run in which it broke");
    const auto info = TRY(results.store.load_run(id)).info;
    const std::string module = test.substr(0, test.find("::"));
    for (const auto& other : TRY(runs_with_older_torch(results, info))) {
        const auto older = TRY(read_test(results, other, test, module, true));
        if (!older.view || !reports::torch_differs(*older.view, *failed.view)) continue;
        const auto its = TRY(results.store.load_run(other)).info;
        return reports::torch_issue(
            {failed.run, *failed.view}, {older.run, *older.view},
            {environment_of(info), environment_of(its), {results.folder.string(), "RESULTS"}});
    }
    return reports::issue_text(failed.run, *failed.view).value_or("");
}

}  // namespace

Expected<ExitCode> show_issue(const Results& results, const std::string& run,
                              const std::string& test) {
    std::string id = run;
    if (id.empty()) {
        const auto history = TRY(results.store.case_history(test));
        const auto broken = std::ranges::find_if(
            history, [](const auto& entry) { return reports::needs_attention(entry.state); });
        if (broken == history.end())
            return fail(ErrorKind::usage, fmt::format("no stored run has a failure of {}", test),
                        "list a run's tests with `runner show RUN`");
        id = broken->run;
    }
    return issue_of(results, id, test).map([](const std::string& text) {
        display::print("{}", mask_own_secrets(text));
        return ExitCode::ok;
    });
}

}  // namespace compat::cli
