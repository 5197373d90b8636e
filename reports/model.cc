#include "reports/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "reports/generated.h"
#include "reports/links.h"
#include "reports/overview/blind_spots.h"
#include "reports/reproduce.h"
#include "runner/analysis/accounting.h"
#include "runner/analysis/attempts.h"
#include "runner/analysis/gaps.h"
#include "runner/analysis/marks.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/store/store.h"

namespace compat::reports {

using parsers::CaseRecord;
using parsers::ModuleOutcome;
using parsers::ModuleRecord;
using parsers::State;

namespace {

// The test's, else that of its first sub-test that failed.
std::string traceback_of(const CaseRecord& test) {
    if (test.failure) return test.failure->traceback;
    for (const parsers::SubCase& sub : test.subcases)
        if (sub.failure) return sub.failure->traceback;
    return {};
}

// Empty if the test had one attempt.
std::vector<AttemptView> attempt_views(const store::StoredModule& module,
                                       const analysis::Verdict& verdict,
                                       const std::vector<std::string>& secrets) {
    std::vector<AttemptView> views;
    if (verdict.attempts.size() < 2) return views;
    for (const analysis::CaseAttempt& at : verdict.attempts) {
        const store::JobResult& job = module.attempts[at.attempt];
        const CaseRecord& test = job.record.cases[at.row];
        const bool shows_text =
            needs_attention(test.state) && at.attempt != verdict.decisive.attempt;
        views.push_back({job.attempt, job.kind, job.record.forked, test.state, test.duration_s,
                         mask_secrets(test.why(), secrets), job.log,
                         shows_text ? mask_secrets(traceback_of(test), secrets) : std::string{}});
    }
    return views;
}

// As analysis::take_verdicts, also for a module that never started.
analysis::Verdicts take_verdicts(store::StoredModule& module) {
    if (!module.attempts.empty()) return analysis::take_verdicts(module.attempts);
    analysis::Verdicts none;
    none.record.path = module.path;
    none.record.outcome = ModuleOutcome::not_run;
    none.record.reason = module.not_run_reason;
    return none;
}

bool ended_in_order(const ModuleRecord& record) {
    return record.outcome == ModuleOutcome::completed || record.outcome == ModuleOutcome::no_tests;
}

struct HubUseOfTest {
    parsers::HubNames generated, missing;
};

// But its texts. `to`: a FailureView or a ClusterView. `used`: what its test got from a hub.
template <class View>
void set_cause(View& to, const parsers::Failure& failure, const HubUseOfTest& used) {
    const auto& why = failure.diagnosis;
    if (!why) return;
    to.cause = name_of(why->cause);
    if (why->error_class) to.error_class = name_of(*why->error_class);
    to.confidence = name_of(why->confidence);
    to.rule = why->rule;
    const bool blames_hub = why->cause == parsers::Cause::hub;
    if (used.generated.any() && blames_generated(why->rule))
        to.needs = describe_need(used.generated);
    else if (used.missing.any() && blames_hub && !blames_generated(why->rule))
        to.needs = describe_lack(used.missing);
}

}  // namespace

bool is_device_unused(const ReportModel& model) {
    return model.run.shim && model.run.simulated && model.totals.used_accelerator == 0 &&
           model.totals.collected > 0;
}

const FailureView* failure_of(const CaseView& test) {
    if (test.failure) return &*test.failure;
    for (const SubtestView& sub : test.subtests)
        if (sub.failure && needs_attention(sub.state)) return &*sub.failure;
    return nullptr;
}

std::vector<std::pair<std::string, std::int64_t>> causes_by_tests(const ReportModel& model) {
    std::vector<std::pair<std::string, std::int64_t>> causes(model.causes.begin(),
                                                             model.causes.end());
    std::stable_sort(causes.begin(), causes.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return causes;
}

std::string_view cause_means(std::string_view cause) {
    return parsers::words_of(parsers::cause_of(cause).value_or(parsers::Cause::unknown)).means;
}

class ModelBuilder::Impl {
  public:
    Impl(const store::StoredRun& run, ModelOptions options)
        : info_(run.info),
          options_(std::move(options)),
          commands_({info_.rerun_argv, info_.env, info_.root, info_.framework, info_.python}),
          expectations_(analysis::expectations_of(info_), info_.expectations_file),
          ways_(analysis::way_of(info_), info_.diagnose, std::move(options_.other_runs)),
          links_({info_.root, info_.links_base, info_.remote, info_.commit, info_.dirty,
                  options_.run_folder / "source", options_.report_folder, options_.may_copy}) {
        model_.run = run_ = run_view(run);
        // The totals of an imported file often cover several modules: import compared them. Those
        // of the run as a whole were compared when shards were merged.
        if (run.end)
            for (const store::StoredMismatch& mismatch : run.end->mismatches)
                if (model_.run.imported || mismatch.module.empty())
                    model_.accounting.mismatches.push_back({mismatch.module, mismatch.message});
    }

    const RunView& run() const { return run_; }

    void add(store::StoredModule module) {
        for (const store::JobResult& job : module.attempts)
            for (const LeakedProcess& process : job.leaked)
                model_.leaked_processes.push_back(
                    {module.path, process.pid, shell_quoted(process.argv), process.killed});
        if (!run_.imported) add_mismatches(module);
        const analysis::Verdicts verdicts = take_verdicts(module);
        const ModuleRecord& record = verdicts.record;
        expectations_.add(record);
        const parsers::Location start = start_of(module);
        links_.count(start);
        for (const CaseRecord& test : record.cases) {
            count_links(test, start);
            count_blind_spot(test, record.outcome);
            if (!needs_attention(test.state)) continue;
            if (tests_with_history_ < kTestsWithHistory) {
                ++tests_with_history_;
                ++with_history_[module.path];
            }
            ways_.add(test, module.diagnostics);
            collect_causes(test, record.framework, start, module.diagnostics);
        }
        const auto used = analysis::used_accelerator(record);
        model_.totals.used_accelerator += std::count(used.begin(), used.end(), true);
        analysis::add(totals_, record,
                      std::count_if(verdicts.tests.begin(), verdicts.tests.end(),
                                    [](const auto& verdict) { return verdict.flaky; }));
        model_.modules_without_result += !ended_in_order(record) && record.cases.empty();
        if (record.outcome == ModuleOutcome::load_error) collect_load_failure(record, start);
        collect_sites(record);
        collectives_.add(record.collectives, record.optimizer_steps);
    }

    [[nodiscard]] Copies copies() const {
        return {links_.copies_prefix(), options_.run_folder / "source", links_.copied()};
    }

    ModuleView view(store::StoredModule module) {
        ModuleView view;
        std::vector<std::string> log_urls;  // by attempt
        for (const store::JobResult& job : module.attempts) {
            add_cost(view, job);
            log_urls.push_back(log_url(job.log));
            for (const parsers::Diagnostic& d : job.record.diagnostics)
                view.diagnostics.push_back(fmt::format("{}{}, byte {}: {}",
                                                       describe_attempt(module, job), d.file,
                                                       d.offset, masked(d.message)));
        }
        const analysis::Verdicts verdicts = take_verdicts(module);
        const ModuleRecord& record = verdicts.record;
        const parsers::Location start = start_of(module);
        view.path = module.path;
        view.url = links_.resolve(start);
        view.outcome = record.outcome;
        view.reason = masked(record.reason);
        view.attempts = static_cast<int>(module.attempts.size());
        view.last_known_cases = module.last_known_cases;
        if (!module.attempts.empty()) {
            view.log = module.attempts.back().log;
            view.log_url = log_urls.back();
            view.process_end = module.attempts.back().process_end;
        }
        if (!run_.imported && !ended_in_order(record))
            view.reproduce = commands_.of(module.path, module.path, {});

        const auto marks = analysis::marks_of(record);
        const auto used_accelerator = analysis::used_accelerator(record);
        DeviceUse use{first_redirections(record), redirections_by_test(record),
                      refusals_not_raised(record)};
        const auto with_history = with_history_.find(module.path);
        std::int64_t histories = with_history == with_history_.end() ? 0 : with_history->second;
        view.refusals = std::move(use.refusals[""]);
        view.cases.reserve(record.cases.size());
        for (size_t i = 0; i < record.cases.size(); ++i) {
            CaseView test = case_view(record.cases[i], start, module.path);
            for (const auto name : marks[i].names()) test.marks.emplace_back(name);
            test.used_accelerator = used_accelerator[i];
            test.expectation = expectations_.view_of(record.cases[i], record.framework);
            add_device_use(test, use);
            if (needs_attention(test.state)) {
                add_causes(test, record.cases[i], module);
                if (histories-- > 0) test.history = history_of(test);
            }
            if (!module.attempts.empty()) add_attempts(test, module, verdicts.tests[i], log_urls);
            view.states[static_cast<size_t>(test.state)] += record.cases[i].tests;
            view.cases.push_back(std::move(test));
        }
        return view;
    }

    ReportModel finish() {
        add_clusters();
        add_redirections();
        model_.collectives = collectives_view(collectives_.figures(), links_);
        std::stable_sort(model_.load_failures.begin(), model_.load_failures.end(),
                         [](const auto& a, const auto& b) { return a.modules > b.modules; });
        set_totals();
        blind_spots_.add(Blind::untouched, model_.totals.untouched);
        blind_spots_.add(Blind::generated, model_.totals.generated);
        if (is_device_unused(model_)) blind_spots_.add(Blind::device_unused, totals_.collected);
        model_.blind_spots = blind_spots_.spots();
        model_.history = std::move(options_.past_runs.runs);
        model_.history.push_back({run_.id, run_.started, run_.complete, model_.totals.states});
        model_.expectations = expectations_.finish();
        model_.accounting.closed = model_.accounting.mismatches.empty();
        model_.links_total = links_.total();
        model_.links_unresolved = links_.unresolved();
        return std::move(model_);
    }

  private:
    using SiteKey = std::tuple<std::string, std::string, std::string, std::string, std::string,
                               std::string, int>;
    struct Site {
        std::int64_t count = 0;
        std::int64_t tests = 0;
    };

    using Sites = std::map<SiteKey, Site>;

    parsers::Location start_of(const store::StoredModule& module) const {
        return {(fs::path(info_.root) / module.path).string(), 0};
    }

    // A row without a place, as of a module that could not be loaded, links to the module.
    static const parsers::Location& place_of(const CaseRecord& test,
                                             const parsers::Location& module) {
        return test.location.file.empty() ? module : test.location;
    }

    // The links of a case_view.
    void count_links(const CaseRecord& test, const parsers::Location& module) {
        links_.count(place_of(test, module));
        const auto count_frames = [&](const parsers::Failure& failure) {
            for (const parsers::Frame& frame : failure.frames)
                if (links_.in_suite(frame.file)) links_.count({frame.file, frame.line});
        };
        if (test.failure) {
            count_frames(*test.failure);
            for (const parsers::Failure& also : test.also) count_frames(also);
        }
        for (const parsers::SubCase& sub : test.subcases)
            if (sub.failure) count_frames(*sub.failure);
    }

    static RunView run_view(const store::StoredRun& run) {
        const store::RunInfo& info = run.info;
        RunView view{info};
        view.duration_s = run.duration_s;
        view.complete = run.end && run.end->complete;
        if (run.end) view.exit_code = run.end->exit_code;
        view.imported = info.rerun_argv.empty();
        view.part = describe_subset(info.subset);
        if (run.end) view.writes = run.end->writes;
        if (run.end) view.hub_use = run.end->hub;
        view.command = shell_quoted(info.argv);
        view.selection = info.shard.empty() ? info.plan : info.plan + " " + info.shard;
        return view;
    }

    void collect_load_failure(const ModuleRecord& record, const parsers::Location& module) {
        const auto failed = std::find_if(record.cases.begin(), record.cases.end(),
                                         [](const CaseRecord& test) { return !!test.failure; });
        if (failed == record.cases.end()) return;
        const std::string cause = masked(failed->failure->key_line());
        auto& all = model_.load_failures;
        auto known = std::find_if(all.begin(), all.end(),
                                  [&](const auto& other) { return other.key_line == cause; });
        if (known == all.end())
            known = all.insert(
                all.end(), {cause, failed->failure->type, record.path, links_.resolve(module), 0});
        ++known->modules;
        known->expected += fails_as_expected(expectations_.view_of(*failed, record.framework));
    }

    [[nodiscard]] std::string log_url(const std::string& log) const {
        if (log.empty()) return {};
        return percent_encoded((options_.run_folder / log)
                                   .lexically_normal()
                                   .lexically_relative(options_.report_folder.lexically_normal())
                                   .generic_string());
    }

    // "attempt 2: " if there were several.
    static std::string describe_attempt(const store::StoredModule& module,
                                        const store::JobResult& job) {
        return module.attempts.size() > 1 ? fmt::format("attempt {}: ", job.attempt)
                                          : std::string{};
    }

    void add_mismatches(const store::StoredModule& module) {
        auto& list = model_.accounting.mismatches;
        for (const store::JobResult& job : module.attempts)
            for (const analysis::Mismatch& mismatch : analysis::account(job.record).mismatches)
                list.push_back({module.path, describe_attempt(module, job) + mismatch.text()});
    }

    CaseView case_view(const CaseRecord& record, const parsers::Location& module,
                       const std::string& module_path) {
        CaseView view;
        view.id = record.id;
        view.state = record.state;
        view.reason = masked(record.reason);
        view.pseudo = record.pseudo;
        view.tests = record.tests;
        view.duration_s = record.duration_s;
        const HubUseOfTest used = used_by(record);
        view.generated = used.generated;
        view.missing = used.missing;
        const parsers::Location& place = place_of(record, module);
        view.file = links_.shown(place.file);
        view.line = place.line;
        view.url = links_.resolve(place);
        if (record.failure) {
            view.failure = failure_view(*record.failure, used);
            for (const parsers::Failure& also : record.also)
                view.failure->also.push_back(failure_view(also, used));
        }
        for (const parsers::SubCase& sub : record.subcases) {
            SubtestView& subtest = view.subtests.emplace_back();
            subtest.id = record.id + " " + sub.label;
            subtest.state = sub.state;
            subtest.reason = masked(sub.reason);
            if (sub.failure) subtest.failure = failure_view(*sub.failure, used);
        }
        if (!run_.imported && needs_attention(record.state))
            view.reproduce = record.pseudo ? commands_.of(module_path, module_path, {})
                                           : commands_.of(record.id, module_path, record.name);
        return view;
    }

    // Device events of a module, by test.
    struct DeviceUse {
        std::unordered_map<std::string_view, parsers::Location> redirected;
        std::unordered_map<std::string_view, Sites> redirections;
        std::unordered_map<std::string_view, std::vector<RefusalView>> refusals;
    };

    void add_device_use(CaseView& test, DeviceUse& use) {
        const bool in_focus = needs_attention(test.state);
        if (const auto at = use.redirected.find(test.id); at != use.redirected.end() && in_focus) {
            test.redirected_at =
                fmt::format("{}:{}", links_.shown(at->second.file), at->second.line);
            test.redirected_url = links_.resolve(at->second);
        }
        if (const auto own = use.redirections.find(test.id);
            own != use.redirections.end() && in_focus)
            test.redirections = redirection_views(own->second, kRedirectionsOfTest);
        if (const auto own = use.refusals.find(test.id); own != use.refusals.end())
            test.refusals = std::move(own->second);
    }

    void add_causes(CaseView& test, const CaseRecord& record, const store::StoredModule& module) {
        test.diagnosis = ways_.diagnosis(record, module.diagnostics);
        if (test.diagnosis)
            for (DiagnosticAttemptView& attempt : test.diagnosis->attempts)
                attempt.key_line = masked(attempt.key_line);
        test.attribution = ways_.attribution(record);
    }

    void add_attempts(CaseView& test, const store::StoredModule& module,
                      const analysis::Verdict& verdict, const std::vector<std::string>& log_urls) {
        test.attempts = attempt_views(module, verdict, options_.secrets);
        if (needs_attention(test.state)) {
            test.log = module.attempts[verdict.decisive.attempt].log;
            test.log_url = log_urls[verdict.decisive.attempt];
        }
        test.flaky = verdict.flaky;
        test.fork_sensitive = verdict.fork_sensitive;
    }

    [[nodiscard]] HubUseOfTest used_by(const CaseRecord& test) const {
        HubUseOfTest use{test.generated, test.missing};
        for (parsers::HubNames* part : {&use.generated, &use.missing})
            for (std::string& name : part->names) name = masked(name);
        return use;
    }

    FailureView failure_view(const parsers::Failure& failure, const HubUseOfTest& used) {
        FailureView view;
        view.type = failure.type;
        view.message = masked(failure.message);
        set_cause(view, failure, used);
        view.signature = masked(failure.signature);
        view.key_line = masked(failure.key_line());
        view.traceback = masked(failure.traceback);
        for (const parsers::Frame& frame : failure.frames) {
            FrameView& shown = view.frames.emplace_back();
            shown.file = links_.shown(frame.file);
            shown.line = frame.line;
            shown.function = frame.function;
            shown.in_suite = links_.in_suite(frame.file);
            if (shown.in_suite) shown.url = links_.resolve({frame.file, frame.line});
        }
        return view;
    }

    // By test: the first line of the suite whose request got another device.
    std::unordered_map<std::string_view, parsers::Location> first_redirections(
        const ModuleRecord& record) {
        std::unordered_map<std::string_view, parsers::Location> lines;
        for (const parsers::DeviceEvent& event : record.device_events)
            if (analysis::is_redirection(event) && links_.in_suite(event.location.file))
                lines.try_emplace(event.test, event.location);
        return lines;
    }

    // By test.
    std::unordered_map<std::string_view, std::vector<RefusalView>> refusals_not_raised(
        const ModuleRecord& record) {
        std::unordered_map<std::string_view, std::vector<RefusalView>> refusals;
        for (const parsers::DeviceEvent& event : record.device_events) {
            if (event.kind != "refusal" || event.message.empty()) continue;
            RefusalView& refusal = refusals[event.test].emplace_back();
            refusal.message = masked(event.message);
            if (event.location.file.empty()) continue;
            refusal.place =
                fmt::format("{}:{}", links_.shown(event.location.file), event.location.line);
            if (links_.in_suite(event.location.file)) refusal.url = links_.resolve(event.location);
        }
        return refusals;
    }

    [[nodiscard]] std::string masked(const std::string& text) const {
        return mask_secrets(text, options_.secrets);
    }

    static SiteKey key_of(const parsers::DeviceEvent& event) {
        return {event.kind,          event.op,           event.from, event.to, event.message,
                event.location.file, event.location.line};
    }

    // A test belongs to one module, so modules can be counted one at a time.
    void collect_sites(const ModuleRecord& record) {
        std::set<std::pair<const Site*, std::string_view>> seen;
        for (const parsers::DeviceEvent& event : record.device_events) {
            Site& site = sites_[key_of(event)];
            site.count += event.count;
            if (!event.test.empty()) site.tests += seen.emplace(&site, event.test).second;
        }
    }

    // For tests that need attention.
    static std::unordered_map<std::string_view, Sites> redirections_by_test(
        const ModuleRecord& record) {
        std::unordered_map<std::string_view, Sites> sites;
        for (const CaseRecord& test : record.cases)
            if (needs_attention(test.state)) sites.try_emplace(test.id);
        for (const parsers::DeviceEvent& event : record.device_events)
            if (const auto of_test = sites.find(event.test); of_test != sites.end()) {
                Site& site = of_test->second[key_of(event)];
                site.count += event.count;
                site.tests = 1;
            }
        return sites;
    }

    [[nodiscard]] std::vector<StateInRun> history_of(const CaseView& test) const {
        std::vector<StateInRun> history;
        if (options_.past_runs.states) history = options_.past_runs.states(test.id);
        history.push_back({run_.id, run_.started, test.state});
        return history;
    }

    // A test counts once in a cluster, whatever the number of its sub-tests in it.
    void collect_causes(const CaseRecord& test, const std::string& framework,
                        const parsers::Location& module,
                        const std::vector<store::JobResult>& diagnostics) {
        const bool expected = fails_as_expected(expectations_.view_of(test, framework));
        const auto shown = ways_.diagnosis(test, diagnostics);
        const auto attributed = ways_.attribution(test);
        if (shown) ++model_.diagnoses[brief_words_of(shown->result)];
        if (attributed)
            ++model_.attributions[attributed->as.empty() ? attributed->cause
                                                         : fmt::format("{}{}", attributed->cause,
                                                                       analysis::kInferred)];
        std::set<std::string> seen;
        const auto add = [&](const parsers::Failure& failure) {
            const std::string signature = masked(failure.signature);
            if (signature.empty() || !seen.insert(signature).second) return;
            ClusterView& cluster = clusters_[signature];
            const bool is_first = ++cluster.tests == 1;
            cluster.expected += expected;
            const bool is_first_unexpected = !expected && cluster.tests - cluster.expected == 1;
            if (!is_first && !is_first_unexpected) return;
            ClusterView shows_this;
            shows_this.tests = cluster.tests;
            shows_this.expected = cluster.expected;
            cluster = std::move(shows_this);
            set_cause(cluster, failure, used_by(test));
            cluster.signature = signature;
            cluster.key_line = masked(failure.key_line());
            if (const auto named = analysis::gaps_in(failure, target()); !named.empty())
                cluster.gap = named.front().key;
            cluster.example = test.id;
            cluster.url = links_.resolve(place_of(test, module));
            if (shown) cluster.diagnosis = shown->words;
            if (attributed) cluster.attribution = attributed->cause;
            const auto inner = std::find_if(
                failure.frames.rbegin(), failure.frames.rend(),
                [&](const parsers::Frame& frame) { return links_.in_suite(frame.file); });
            if (inner == failure.frames.rend()) return;
            cluster.place = fmt::format("{}:{}", links_.shown(inner->file), inner->line);
            cluster.place_url = links_.resolve({inner->file, inner->line});
        };
        if (test.failure) add(*test.failure);
        for (const parsers::SubCase& sub : test.subcases)
            if (sub.failure) add(*sub.failure);
        const parsers::Failure* const own = analysis::deciding_failure(test);
        if (!own || !own->diagnosis) return;
        const std::string cause(name_of(own->diagnosis->cause));
        ++model_.causes[cause];
        if (expected) ++model_.expected_causes[cause];
    }

    void count_blind_spot(const CaseRecord& test, ModuleOutcome outcome) {
        const parsers::Failure* const failure = analysis::deciding_failure(test);
        const auto spot = blind_spot_of(
            test.state, failure && failure->diagnosis ? &*failure->diagnosis : nullptr);
        if (outcome == ModuleOutcome::load_error && needs_attention(test.state))
            blind_spots_.add(Blind::not_loaded);
        else if (spot)
            blind_spots_.add(*spot);
    }

    [[nodiscard]] analysis::Target target() const {
        return {run_.simulated.value_or(run_.device), run_.simulated.has_value()};
    }

    void add_clusters() {
        model_.clusters.reserve(clusters_.size());
        while (!clusters_.empty()) {
            auto node = clusters_.extract(clusters_.begin());
            model_.clusters.push_back(std::move(node.mapped()));
        }
        std::stable_sort(model_.clusters.begin(), model_.clusters.end(),
                         [](const auto& a, const auto& b) { return a.tests > b.tests; });
    }

    void add_redirections() {
        for (const auto& [key, site] : sites_)
            if (const auto& file = std::get<5>(key); links_.in_suite(file))
                links_.count({file, std::get<6>(key)});
        model_.redirections = redirection_views(sites_, sites_.size());
    }

    // The most frequent of them.
    std::vector<RedirectionView> redirection_views(const Sites& sites, std::size_t limit) {
        std::vector<RedirectionView> views;
        for (const auto& [key, site] : sites) {
            RedirectionView& view = views.emplace_back();
            std::tie(view.kind, view.op, view.from, view.to, view.message, view.file, view.line) =
                key;
            view.message = masked(view.message);
            view.count = site.count;
            view.tests = site.tests;
        }
        // Stable, so that two reports of one run are equal.
        std::stable_sort(views.begin(), views.end(),
                         [](const auto& a, const auto& b) { return a.count > b.count; });
        if (views.size() > limit) views.resize(limit);
        for (RedirectionView& view : views) {
            if (links_.in_suite(view.file)) view.url = links_.resolve({view.file, view.line});
            view.file = links_.shown(view.file);
        }
        return views;
    }

    void set_totals() {
        Totals& totals = model_.totals;
        totals.modules = totals_.modules;
        totals.collected = totals_.collected;
        totals.states = totals_.states;
        totals.rows = totals_.rows;
        totals.flaky = totals_.flaky;
        totals.device = totals_.device;
        totals.fallback = totals_.fallback;
        totals.race = totals_.race;
        totals.redirected = totals_.redirected;
        totals.untouched = totals_.untouched;
        totals.generated = totals_.generated;
    }

    store::RunInfo info_;
    ModelOptions options_;
    RunView run_;
    ReproduceCommands commands_;
    ExpectationsOfRun expectations_;
    WaysOfRun ways_;
    LinkResolver links_;
    analysis::Totals totals_;
    Sites sites_;
    analysis::CollectiveSums collectives_;
    BlindSpotCounts blind_spots_;
    std::int64_t tests_with_history_ = 0;
    std::map<std::string, std::int64_t, std::less<>> with_history_;  // tests by module
    std::map<std::string, ClusterView> clusters_;
    ReportModel model_;
};

ModelBuilder::ModelBuilder(const store::StoredRun& run, ModelOptions options)
    : impl_(std::make_unique<Impl>(run, std::move(options))) {}
ModelBuilder::ModelBuilder(ModelBuilder&&) noexcept = default;
ModelBuilder::~ModelBuilder() = default;

std::string describe_closed_accounting(const ReportModel& model) {
    if (model.modules_without_result == 0) return ", all accounted for";
    return fmt::format("; the tests of {} without a result are not counted",
                       counted(model.modules_without_result, "module"));
}

const RunView& ModelBuilder::run() const { return impl_->run(); }
void ModelBuilder::add(store::StoredModule module) { impl_->add(std::move(module)); }
ReportModel ModelBuilder::finish() { return impl_->finish(); }
ModuleView ModelBuilder::view(store::StoredModule module) { return impl_->view(std::move(module)); }
ModelBuilder::Copies ModelBuilder::copies() const { return impl_->copies(); }

}  // namespace compat::reports
