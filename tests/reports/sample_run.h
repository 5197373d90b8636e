// A run that fills every section of a report, and its source tree on disk.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "parsers/attempt.h"
#include "reports/json/json.h"
#include "reports/markdown/markdown.h"
#include "reports/model.h"
#include "reports/overview/first_steps.h"
#include "runner/base/names.h"
#include "runner/store/store.h"

namespace compat::reports::samples {

namespace fs = std::filesystem;
using parsers::State;

// A suite's source: two modules of twelve lines each.
inline void make_source(const fs::path& root) {
    for (const auto* module : {"tests/ops/test_a.py", "tests/test_b.py"}) {
        fs::create_directories((root / module).parent_path());
        std::ofstream file(root / module);
        for (int line = 1; line <= 12; ++line) file << "line " << line << "\n";
    }
}

inline store::RunInfo info(const fs::path& root) {
    store::RunInfo run;
    run.id = make_run_id("alpha", WallTime(Milliseconds(1795227330123)), 0xbeef);
    run.suite = "alpha";
    run.series = "alpha";
    run.started = WallTime(Milliseconds(1795227330123));
    run.framework = "unittest";
    run.policy = "missing";
    run.device = "cpu";
    run.commit = "0123abcd";
    run.torch = "2.13.0";
    run.root = root;
    run.links_base = "https://forge.example/alpha/blob/{commit}/{path}#L{line}";
    run.python = "/venv/bin/python";
    run.env = {{"ACTIVATE_TORCH_DEVICE", "1"}, {"NOTE", "it's"}, {"API_TOKEN", "<set>"}};
    run.argv = {"runner", "suites/alpha", "-k", "not slow"};
    run.rerun_argv = {"runner", "suites/alpha", "--root", root};
    run.fingerprint = R"({"os":"Debian 12","cores":2,"packages":{"numpy":"2.4.6","padding":")" +
                      std::string(200, 'x') + "\"}}";
    run.folder = "runs/" + run.id;
    return run;
}

inline parsers::Failure failure(const fs::path& root, const std::string& type,
                                const std::string& message) {
    parsers::Failure f;
    f.type = type;
    f.message = message;
    f.traceback = "Traceback (most recent call last):\n  File \"test_a.py\", line 7, in test_f\n" +
                  type + ": " + message + "\n";
    f.frames = {{"/usr/lib/python3.11/unittest/case.py", 57, "run"},
                {(root / "tests/ops/test_a.py").string(), 7, "test_f"}};
    return f;
}

inline parsers::CaseRecord test(const fs::path& root, const std::string& module,
                                const std::string& name, int line, State state) {
    parsers::CaseRecord record;
    record.id = module + "::T::" + name;
    record.name = "tests." + name;
    record.state = state;
    record.started = true;
    record.duration_s = 0.5 * line;
    record.location = {(root / module).string(), line};
    return record;
}

// A stored run with its modules.
struct Run : store::StoredRun {
    std::vector<store::StoredModule> modules;
};

inline Run run(const fs::path& root) {
    const std::string a = "tests/ops/test_a.py";
    const std::string b = "tests/test_b.py";
    store::JobResult first;
    first.record.path = a;
    first.record.framework = "unittest";
    first.record.framework_version = "3.11.2";
    first.record.python_version = "3.11.2";
    first.record.outcome = parsers::ModuleOutcome::completed;
    first.record.shim = parsers::ShimSession{"0.1.0", "2.13.0", "cpu", "missing", "", false};
    auto& cases = first.record.cases;
    cases = {
        test(root, a, "test_p", 1, State::passed),     test(root, a, "test_q", 2, State::passed),
        test(root, a, "test_f", 3, State::failed),     test(root, a, "test_e", 4, State::errored),
        test(root, a, "test_s1", 5, State::skipped),   test(root, a, "test_s2", 6, State::skipped),
        test(root, a, "test_xf", 8, State::xfailed),   test(root, a, "test_xp", 9, State::xpassed),
        test(root, a, "test_far", 99, State::passed),  test(root, a, "test_c", 10, State::crashed),
        test(root, a, "test_t", 11, State::timed_out), test(root, a, "test_n", 12, State::not_run)};
    cases[2].failure = failure(root, "AssertionError", "1 != 2");
    cases[2].also = {failure(root, "OSError", "while tidying up")};
    cases[2].subcases = {{"(i=3)", State::failed, "", failure(root, "AssertionError", "3 is odd")},
                         {"(i=4)", State::passed, "", std::nullopt}};
    cases[3].failure = failure(root, "RuntimeError", "no kernel");
    cases[4].reason = cases[5].reason = "needs two devices";
    cases[9].reason = "SIGSEGV";
    cases[10].reason = "after 5m";
    cases[11].reason = "the module had died too often";
    first.record.collected = static_cast<std::int64_t>(cases.size());
    first.record.device_events = {
        {cases[0].id, "redirect", "aten::empty", "cuda:0", "cpu", {(root / a).string(), 1}, 4},
        {cases[2].id, "redirect", "aten::empty", "cuda:0", "cpu", {(root / a).string(), 1}, 2},
        {"", "stub", "torch.cuda.is_available", "cuda", "cpu", {"/site/torch_user.py", 3}, 1}};
    first.record.collectives = {{"", "all_reduce", "0", 2, {(root / a).string(), 3}, 20, 20 << 20},
                                {"", "broadcast", "0", 2, {"", 0}, 2, 512}};
    first.record.optimizer_steps = {{"", 2, 20}};
    first.record.diagnostics = {{"events", 17, "a line that is not JSON"}};
    first.duration_s = 3.25;
    first.user_s = 3;
    first.max_rss_bytes = 100 << 20;
    first.log = "modules/tests/ops/test_a.py/1.log";
    first.process_end = "exited 1";
    first.leaked = {{4711, {"sleep", "1 000"}}};
    first.started = WallTime(Milliseconds(1795227331000));

    // test_e passes where every device is redirected.
    store::JobResult second;
    second.record.path = a;
    second.record.framework = "unittest";
    second.record.cases = {test(root, a, "test_e", 4, State::passed)};
    second.attempt = 2;
    second.kind = AttemptKind::diagnostic;
    second.only = {cases[3].id};
    second.step = "redirect_all";
    second.duration_s = 1.5;
    second.log = "modules/tests/ops/test_a.py/2.log";

    Run stored;
    stored.info = info(root);
    stored.info.diagnose = true;
    stored.info.isolation = "sandbox";
    stored.info.network = false;
    store::RunEnd end;
    end.finished = WallTime(Milliseconds(1795227350123));
    end.duration_s = 20;
    end.complete = false;
    end.exit_code = 130;
    end.not_run_reason = "interrupted";
    end.writes = {{"source", 2, 30, {{"data/a.txt", "changed", 30}, {"data/b.txt", "deleted", 0}}}};
    stored.end = end;
    stored.duration_s = end.duration_s;
    stored.modules = {{a, {first}, "", std::nullopt, {second}}, {b, {}, "interrupted", 7}};
    for (store::StoredModule& module : stored.modules)
        for (auto* jobs : {&module.attempts, &module.diagnostics})
            for (store::JobResult& job : *jobs) parsers::diagnose(job.record);
    return stored;
}

// A run's model with the views of its modules.
struct Model : ReportModel {
    std::vector<ModuleView> modules;
};

// `secrets`: masked in it.
inline Model model(const Run& stored, const fs::path& folder,
                   const std::vector<std::string>& secrets = {}) {
    ModelBuilder builder(stored, {folder, folder, {}, {}, secrets});
    std::vector<ModuleView> modules;
    for (const store::StoredModule& module : stored.modules) {
        builder.add(module);
        modules.push_back(builder.view(module));
    }
    Model model{builder.finish(), std::move(modules)};
    model.first_steps = first_steps(model);
    return model;
}

inline std::string to_markdown(const Model& model, std::size_t max_bytes = kMarkdownBytes) {
    std::string text;
    const auto renderer =
        markdown_report(model, max_bytes, [&](std::string_view bytes) { text += bytes; });
    for (const ModuleView& module : model.modules) renderer->add(module);
    renderer->finish();
    return text;
}

inline std::string to_json(const Model& model) {
    std::string text;
    const auto renderer = json_report(model, [&](std::string_view bytes) { text += bytes; });
    for (const ModuleView& module : model.modules) renderer->add(module);
    renderer->finish();
    return text;
}

}  // namespace compat::reports::samples
