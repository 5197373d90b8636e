#include "runner/run/scan/verify_fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "reports/model.h"
#include "reports/porting/facts.h"
#include "runner/base/clock.h"
#include "runner/base/files.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/exec/signals.h"
#include "runner/run/run_suite.h"
#include "runner/run/scan/bisection.h"
#include "runner/run/scan/project_copy.h"
#include "runner/run/scan/scan_sources.h"
#include "runner/run/temporary_folder.h"
#include "runner/store/store.h"

namespace compat::run {

namespace fs = std::filesystem;
using config::Setting;
using parsers::State;

namespace {

// Broken tests that a trial runs: a few of each failure.
constexpr size_t kTestsOfFailure = 3, kTestsOfTrial = 30;

// CUDA can be hidden from torch, other devices cannot.
bool is_simulated_on(const std::string& accelerator) {
    return accelerator == "cpu" || accelerator == "cuda";
}

// A test in one column. Its name is unique with its module.
using TestKey = std::tuple<size_t, std::string, std::string>;  // column, module, id

struct TestResult {
    State state = State::not_run;
    bool pseudo = false;
    double seconds = 0;
    std::string place{}, key_line{};
    bool missing = false;

    [[nodiscard]] bool is_good() const { return state == State::passed || state == State::xfailed; }
};

using Results = std::map<TestKey, TestResult>;

class Verification {
  public:
    Verification(const TestedProject& project, fs::path temporary, const Fixer& fixer,
                 std::string torch, const config::Invocation& invocation, const prepare::Say& say)
        : project_(project),
          copy_(temporary / project.name),
          fixer_(fixer),
          torch_(std::move(torch)),
          invocation_(invocation),
          say_(say) {
        invocation_.suite = copy_;
        auto& flags = invocation_.flags;
        flags[Setting::python] = project.python;
        flags[Setting::results] = (temporary / "results").string();
        flags[Setting::progress] = "plain";
        flags[Setting::retries] = "1";  // a flaky test is nobody's fault
        flags[Setting::seeds] = "0";
        flags[Setting::keep_going] = "off";
        flags[Setting::diagnose] = "off";
    }

    Expected<void> copy(const fs::path& results) {
        const auto copied = copy_project(project_.folder, copy_, {results});
        if (!copied) return tl::unexpected(copied.error());
        say_(fmt::format("testing a copy of {} ({}, {:.1f} MB)", project_.folder.string(),
                         counted(static_cast<long>(copied->files), "file"),
                         static_cast<double>(copied->bytes) / 1e6));
        return {};
    }

    // All replacements of the copy. Keeps what its files were.
    Expected<void> find_changes(const std::vector<std::string>& paths) {
        for (const std::string& path : paths) paths_.push_back(in_copy(real_path(path)).string());
        auto fixed = fixer_.fix(paths_, {torch_});
        if (!fixed) return tl::unexpected(fixed.error());
        changes_ = std::move(fixed->changes);
        for (const Replacement& change : changes_) {
            if (!originals_.contains(change.real)) {
                auto text = read_file(change.real);
                if (!text) return tl::unexpected(text.error());
                originals_.emplace(change.real, std::move(*text));
            }
            group_of_.push_back(originals_.size());
        }
        env_ = "PYTHONPATH=" + python_path();
        return {};
    }

    [[nodiscard]] bool has_changes() const { return !changes_.empty(); }

    Expected<VerifyResult> verify(std::chrono::milliseconds limit) {
        VerifyResult verified;
        before_.clear();
        for (size_t column = 0; column < columns(); ++column) {
            const auto ran = run(column, {}, "before");
            if (!ran) return tl::unexpected(ran.error());
            verified.columns.push_back({kVerifyColumns[column].words});
            for (const auto& [key, result] : *ran) {
                verified.columns.back().tests += !result.pseudo;
                verified.columns.back().passed += !result.pseudo && result.is_good();
                if (!result.pseudo && result.is_good()) before_.emplace(key, result);
                if (result.pseudo && !result.is_good())
                    verified.unloadable.emplace(std::get<1>(key), result.key_line);
            }
        }
        if (interrupted_) return interrupted();
        if (before_.empty())
            return fail(ErrorKind::usage,
                        "no test passes before the replacements: nothing can be verified",
                        fmt::format("`runner {}` shows why", project_.folder.string()),
                        project_.folder.string());
        deadline_ = clock_.steady() + limit;
        if (const auto found = search(verified); !found) return tl::unexpected(found.error());
        if (interrupted_) return interrupted();
        return finish(std::move(verified));
    }

    static Expected<VerifyResult> interrupted() {
        VerifyResult verified;
        verified.interrupted = true;
        return verified;
    }

  private:
    [[nodiscard]] size_t columns() const {
        return is_simulated_on(project_.accelerator) ? kVerifyColumns.size() : 1;
    }
    [[nodiscard]] fs::path in_copy(const fs::path& path) const {
        return (copy_ / path.lexically_relative(project_.folder)).lexically_normal();
    }
    [[nodiscard]] fs::path in_project(const fs::path& path) const {
        return project_.folder / path.lexically_relative(copy_);
    }
    // The copy's packages come before those of an editable installation, which are the user's.
    std::string python_path() const {
        std::set<std::string> folders;
        for (const auto& [file, text] : originals_) {
            std::error_code error;
            fs::path folder = file.parent_path();
            const bool in_package = fs::exists(folder / "__init__.py", error);
            while (is_inside(folder, copy_) && fs::exists(folder / "__init__.py", error))
                folder = folder.parent_path();
            if (in_package) folders.insert(folder.string());
        }
        std::string path;
        for (const std::string& folder : folders) path += folder + ":";
        const char* inherited = std::getenv("PYTHONPATH");
        return path + (inherited ? inherited : "");
    }

    // The tests of a column, or only those that are named. A column that is interrupted has none.
    Expected<Results> run(size_t column, const std::vector<std::string>& targets,
                          std::string_view words) {
        Results results;
        if (interrupted_) return results;
        config::Invocation own = invocation_;
        const bool simulates = kVerifyColumns[column].simulates_cuda;
        own.flags[Setting::shim] = simulates ? "on" : "off";
        own.flags[Setting::simulate] = simulates ? "cuda" : "off";
        if (simulates) own.flags[Setting::policy] = "none";
        RunRequest request;
        request.suite = copy_.string();
        request.targets = targets;
        request.verbosity = -1;
        request.keep_empty = request.discovery_printed = true;
        // Loaded files leave bytecode, which says that they were loaded.
        request.env = {env_, "PYTHONDONTWRITEBYTECODE=", "PYTHONPYCACHEPREFIX="};
        if (!simulates && project_.accelerator == "cuda")
            request.env.emplace_back("CUDA_VISIBLE_DEVICES=");
        const SteadyTime since = clock_.steady();
        auto ran = [&] {
            const display::Muted muted;
            return run_once(request, own);
        }();
        if (!ran) return tl::unexpected(ran.error());
        if (ran->code == ExitCode::interrupted) interrupted_ = true;
        if (interrupted_ || ran->id.empty()) return results;
        if (const auto read = read_results(*ran, column, results); !read)
            return tl::unexpected(read.error());
        note_loaded();
        const std::chrono::duration<double> took = clock_.steady() - since;
        const auto tests = std::count_if(results.begin(), results.end(),
                                         [](const auto& result) { return !result.second.pseudo; });
        const auto good = std::count_if(results.begin(), results.end(), [](const auto& result) {
            return !result.second.pseudo && result.second.is_good();
        });
        say_(fmt::format("{}, {}: {} of {} passed ({})", words, kVerifyColumns[column].words, good,
                         counted(tests, "test"), format_duration(took)));
        return results;
    }

    Expected<void> read_results(const RunResult& ran, size_t column, Results& results) const {
        const store::Store& store = *ran.store;
        const auto run = store.load_run(ran.id);
        if (!run) return tl::unexpected(run.error());
        const fs::path folder = fs::path(invocation_.flags.at(Setting::results)) / run->info.folder;
        reports::ModelBuilder model(*run, {folder, folder});
        return store.each_module(ran.id, [&](store::StoredModule stored) -> Expected<void> {
            const reports::ModuleView module = model.view(std::move(stored));
            for (const reports::CaseView& test : module.cases) {
                const auto details = reports::details_of(test, model.run());
                results[{column, module.path, test.id}] = {test.state, test.pseudo, test.duration_s,
                                                           details.place, details.key_line};
            }
            return {};
        });
    }

    void note_loaded() {
        for (const auto& [file, text] : originals_) {
            std::error_code error;
            const std::string stem = file.stem().string() + ".";
            for (const auto& entry :
                 fs::directory_iterator(file.parent_path() / "__pycache__", error))
                if (entry.path().filename().string().starts_with(stem)) loaded_.insert(file);
        }
    }

    // Writes these replacements into the copy, and no others.
    Expected<void> apply(const Changes& changes) {
        std::vector<Replacement> only;
        for (const size_t change : changes) only.push_back(changes_[change]);
        for (const auto& [file, text] : originals_) {
            std::error_code error;
            // Bytecode is compared by size and second.
            fs::remove_all(file.parent_path() / "__pycache__", error);
            if (auto written = write_file(file, text); !written) return written;
        }
        if (only.empty()) return {};
        const auto fixed = fixer_.fix(paths_, {torch_, true, &only});
        if (!fixed) return tl::unexpected(fixed.error());
        if (fixed->changes.size() == only.size()) return {};
        return fail(ErrorKind::environment, "the replacements cannot be written into the copy", {},
                    fixed->skipped.empty() ? copy_.string() : fixed->skipped.front());
    }

    // Tests that passed before and do not pass now. `wanted`: those that were run; null: all.
    std::vector<TestKey> broken_of(const Results& now, const std::set<TestKey>* wanted = nullptr) {
        std::vector<TestKey> broken;
        for (const auto& [key, before] : before_) {
            if (wanted && !wanted->contains(key)) continue;
            const auto result = now.find(key);
            if (result != now.end() && result->second.is_good()) continue;
            broken.push_back(key);
            TestResult& failure = last_failure_[key];
            failure = result == now.end() ? TestResult{} : result->second;
            failure.missing = result == now.end();
        }
        return broken;
    }

    Expected<std::vector<TestKey>> run_all(std::string_view words) {
        Results now;
        for (size_t column = 0; column < columns(); ++column) {
            auto ran = run(column, {}, words);
            if (!ran) return tl::unexpected(ran.error());
            now.merge(*ran);
        }
        return interrupted_ ? std::vector<TestKey>{} : broken_of(now);
    }

    // A few tests of each failure, the fastest.
    std::set<TestKey> examples_of(const std::vector<TestKey>& broken) {
        std::map<std::string, std::vector<TestKey>> by_failure;
        std::set<std::pair<std::string, std::string>> seen;  // one column of a test is enough
        for (const TestKey& test : broken)
            if (seen.emplace(std::get<1>(test), std::get<2>(test)).second)
                by_failure[last_failure_[test].key_line].push_back(test);
        std::set<TestKey> examples;
        for (auto& [failure, tests] : by_failure) {
            std::stable_sort(tests.begin(), tests.end(), [&](const auto& a, const auto& b) {
                return before_.at(a).seconds < before_.at(b).seconds;
            });
            for (size_t i = 0; i < std::min(kTestsOfFailure, tests.size()); ++i)
                if (examples.size() < kTestsOfTrial) examples.insert(tests[i]);
        }
        return examples;
    }

    // Runs the tests with these changes; the tests that break, as indices of tests_.
    Expected<std::optional<std::vector<size_t>>> try_changes(const std::set<TestKey>& tests,
                                                             bool all_tests,
                                                             const Changes& changes) {
        if (interrupted_ || clock_.steady() > deadline_) return std::nullopt;
        if (auto applied = apply(changes); !applied) return tl::unexpected(applied.error());
        std::map<size_t, std::vector<std::string>> targets;
        for (const auto& [column, module, id] : tests) targets[column].push_back(id);
        Results now;
        const std::string words = fmt::format(
            "{} of {}", changes.size(), counted(static_cast<long>(changes_.size()), "replacement"));
        for (auto& [column, ids] : targets) {
            auto ran = run(column, all_tests ? std::vector<std::string>{} : ids, words);
            if (!ran) return tl::unexpected(ran.error());
            now.merge(*ran);
        }
        if (interrupted_) return std::nullopt;
        std::vector<size_t> broken;
        for (const TestKey& test : broken_of(now, &tests)) broken.push_back(index_of(test));
        return broken;
    }

    size_t index_of(const TestKey& test) {
        failures_.push_back(broken_test(test));
        return failures_.size() - 1;
    }

    BrokenTest broken_test(const TestKey& test) {
        const TestResult& result = last_failure_[test];
        return {std::get<2>(test), kVerifyColumns[std::get<0>(test)].words,
                result.missing ? "missing" : std::string(name_of(result.state)), result.place,
                result.key_line};
    }

    // All at once; where tests break, finds the replacements that break them, until none does.
    Expected<void> search(VerifyResult& verified) {
        Changes kept(changes_.size());
        for (size_t i = 0; i < kept.size(); ++i) kept[i] = i;
        bool all_tests = false;
        while (!kept.empty() && !interrupted_) {
            if (auto applied = apply(kept); !applied) return applied;
            const auto broken = run_all(
                fmt::format("with {}", counted(static_cast<long>(kept.size()), "replacement")));
            if (!broken) return tl::unexpected(broken.error());
            if (broken->empty() || interrupted_) break;
            const auto found = narrow(kept, *broken, all_tests);
            if (!found) return tl::unexpected(found.error());
            for (const DroppedChange& dropped : found->dropped) add_dropped(dropped, verified);
            for (const size_t change : found->undecided)
                verified.undecided.push_back(changes_[change]);
            const bool is_same = found->kept.size() == kept.size();
            kept = found->kept;
            if (!is_same) continue;
            // The broken tests pass by themselves: they break with the others, or they are flaky.
            if (all_tests) {
                for (const TestKey& test : *broken) {
                    verified.unsteady.push_back(std::get<2>(test));
                    before_.erase(test);
                }
            }
            all_tests = true;
        }
        kept_ = std::move(kept);
        return {};
    }

    Expected<Bisection> narrow(const Changes& kept, const std::vector<TestKey>& broken,
                               bool all_tests) {
        say_(fmt::format("finding which of {} breaks {}",
                         counted(static_cast<long>(kept.size()), "replacement"),
                         counted(static_cast<long>(broken.size()), "test")));
        const std::set<TestKey> tests =
            all_tests ? std::set<TestKey>(broken.begin(), broken.end()) : examples_of(broken);
        std::vector<size_t> groups;
        for (const size_t change : kept) groups.push_back(group_of_[change]);
        const auto changes_of = [&](const Changes& indices) {
            Changes changes;
            for (const size_t i : indices) changes.push_back(kept[i]);
            return changes;
        };
        auto found = bisect(groups, [&](const Changes& indices) {
            return try_changes(tests, all_tests, changes_of(indices));
        });
        if (!found) return found;
        found->kept = changes_of(found->kept);
        found->undecided = changes_of(found->undecided);
        for (DroppedChange& dropped : found->dropped) dropped.change = kept[dropped.change];
        return found;
    }

    void add_dropped(const DroppedChange& dropped, VerifyResult& verified) {
        DroppedReplacement one{user_change(changes_[dropped.change]), {}};
        for (const size_t failure : dropped.broken) one.broken.push_back(failures_[failure]);
        verified.dropped.push_back(std::move(one));
    }

    [[nodiscard]] Replacement user_change(Replacement change) const {
        change.real = in_project(change.real);
        change.file = change.real.lexically_relative(project_.folder).string();
        return change;
    }

    Expected<VerifyResult> finish(VerifyResult verified) {
        std::set<std::string> not_loaded;
        for (const size_t change : kept_) {
            verified.kept.push_back(user_change(changes_[change]));
            if (!loaded_.contains(changes_[change].real))
                not_loaded.insert(verified.kept.back().file);
        }
        verified.not_loaded.assign(not_loaded.begin(), not_loaded.end());
        for (Replacement& change : verified.undecided) change = user_change(std::move(change));
        for (const auto& [file, text] : originals_) {
            const auto now = read_file(in_project(file));
            if (!now || *now != text)
                return fail(ErrorKind::usage, "this file was changed while the tests ran",
                            "run it again", in_project(file).string());
        }
        return verified;
    }

    const TestedProject& project_;
    fs::path copy_;
    const Fixer& fixer_;
    std::string torch_;
    config::Invocation invocation_;
    const prepare::Say& say_;
    SystemClock clock_;
    SteadyTime deadline_{};
    std::vector<std::string> paths_;  // in the copy
    std::string env_;
    std::vector<Replacement> changes_;
    std::vector<size_t> group_of_;               // of each change: its file
    std::map<fs::path, std::string> originals_;  // the files with changes
    std::set<fs::path> loaded_;
    Results before_;  // tests that passed
    std::map<TestKey, TestResult> last_failure_;
    std::vector<BrokenTest> failures_;
    Changes kept_;
    bool interrupted_ = false;
};

}  // namespace

Expected<VerifyResult> verify_fixes(const TestedProject& project,
                                    const std::vector<std::string>& paths, const std::string& torch,
                                    std::chrono::milliseconds limit, const Fixer& fixer,
                                    const config::Invocation& invocation, const prepare::Say& say) {
    exec::block_termination_signals();  // an interrupt removes the copy, too
    auto temporary = TemporaryFolder::create("verify");
    if (!temporary) return tl::unexpected(temporary.error());
    Verification verification(project, temporary->path(), fixer, torch, invocation, say);
    const auto results = config::results_folder(invocation);
    if (!results) return tl::unexpected(results.error());
    if (auto copied = verification.copy(real_path(*results)); !copied)
        return tl::unexpected(copied.error());
    if (exec::is_termination_pending()) return Verification::interrupted();
    if (auto found = verification.find_changes(paths); !found) return tl::unexpected(found.error());
    if (!verification.has_changes()) return VerifyResult{};
    return verification.verify(limit);
}

}  // namespace compat::run
