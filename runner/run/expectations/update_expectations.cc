#include "runner/run/expectations/update_expectations.h"

#include <algorithm>

#include "runner/analysis/attempts.h"
#include "runner/base/files.h"
#include "runner/base/files/temporary_folder.h"
#include "runner/prepare/share.h"
#include "runner/prepare/tool.h"
#include "suites/expectations.h"

namespace compat::run {

using analysis::ExpectationChange;

namespace {

// Takes `selected` from the entries that the run stored when it began.
void take_selected(std::vector<Expectation>& entries, const store::RunInfo& info) {
    const auto stored = analysis::from_stored(info.expectations);
    for (Expectation& entry : entries)
        entry.selected = std::any_of(stored.begin(), stored.end(), [&](const Expectation& known) {
            return known.test == entry.test && known.selected;
        });
}

}  // namespace

Expected<RunAndExpectations> read_run_and_expectations(const store::Store& store,
                                                       const std::string& id,
                                                       const fs::path& named) {
    const auto run = TRY(store.load_run(id));
    const store::RunInfo& info = run.info;
    if (!info.gives_verdicts())
        return fail(ErrorKind::usage, "this run gives no verdicts: its states are not expected",
                    "run the suite without --keep-going and --seeds", id);
    RunAndExpectations read{id,
                            info.framework,
                            named.empty() ? fs::path(info.expectations_file) : fs::absolute(named),
                            {},
                            {}};
    if (read.file.empty())
        return fail(ErrorKind::usage, "this run names no file of expectations",
                    "name one with --expectations FILE", id);
    std::vector<Expectation> entries;
    std::error_code error;
    if (fs::exists(read.file, error)) {
        auto text = TRY(read_file(read.file));
        auto parsed = suites::parse_expectations(text, read.file);
        if (!parsed)
            return tl::unexpected(named.empty() ? suites::advise_to_name_another(parsed.error())
                                                : parsed.error());
        read.text = std::move(text);
        entries = std::move(*parsed);
    }
    take_selected(entries, info);
    read.expectations = {std::move(entries), analysis::circumstances_of(info)};
    return read;
}

Expected<void> each_verdict_record(const store::Store& store, const std::string& run,
                                   const std::function<void(const parsers::ModuleRecord&)>& see) {
    return store.each_module(run, [&](store::StoredModule module) -> Expected<void> {
        if (!module.attempts.empty()) {
            see(analysis::take_verdicts(module.attempts).record);
            return {};
        }
        parsers::ModuleRecord record;
        record.path = module.path;
        record.outcome = parsers::ModuleOutcome::not_run;
        see(record);
        return {};
    });
}

Expected<PlannedUpdate> plan_update(const store::Store& store, const RunAndExpectations& read) {
    analysis::UpdatePlanner planner(read.expectations);
    TRY(each_verdict_record(store, read.run, [&](const auto& record) { planner.add(record); }));
    PlannedUpdate planned{planner.finish(), read.text};
    if (planned.update.changes.empty()) return planned;
    suites::ExpectationEdits edits;
    for (const ExpectationChange& change : planned.update.changes) switch (change.kind) {
            case ExpectationChange::Kind::add:
                edits.added.push_back(change.value);
                break;
            case ExpectationChange::Kind::set_states:
                edits.states[change.entry] = change.value.expect;
                break;
            case ExpectationChange::Kind::remove:
                edits.removed.push_back(change.entry);
                break;
        }
    planned.text = suites::edited_expectations(read.text, edits);
    return planned;
}

Expected<std::string> unified_diff(const std::string& before, const std::string& after,
                                   const std::string& name, const std::string& python) {
    const auto share = TRY(prepare::find_share());
    const auto room = TRY(TemporaryFolder::create("expect"));
    const fs::path old_file = room.path() / "old", new_file = room.path() / "new";
    return write_file(old_file, before)
        .and_then([&] { return write_file(new_file, after); })
        .and_then([&] {
            return prepare::output_of({{python, (share.harness / "unified_diff.py").string(),
                                        old_file.string(), new_file.string(), name}});
        });
}

}  // namespace compat::run
