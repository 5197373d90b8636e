// Values for the store's tests: every field differs from its default.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runner/store/store.h"

namespace compat::store::samples {

inline WallTime at_second(std::int64_t seconds) {
    return WallTime(Milliseconds(seconds * 1000 + 7));
}

inline RunInfo run(const std::string& id, std::int64_t second, const std::string& suite = "alpha") {
    RunInfo info;
    info.id = id;
    info.suite = suite;
    info.series = "nightly";
    info.started = at_second(second);
    info.framework = "unittest";
    info.shim = false;
    info.policy = "missing";
    info.masquerade = true;
    info.device = "cpu";
    info.simulated = "mps";
    info.fallback = false;
    info.diagnose = true;
    info.commit = "0123abcd";
    info.dirty = true;
    info.remote = "git@example.org:a/b.git";
    info.torch = "2.13.0";
    info.root = "/src/alpha";
    info.links_base = "https://example.org/{path}#L{line}";
    info.python = "/venv/bin/python";
    info.env = {{"A", "1"}, {"B", "two words"}};
    info.argv = {"runner", "suites/alpha", "it's"};
    info.rerun_argv = {"runner", "suites/alpha"};
    info.fingerprint = R"({"os":"Debian 12"})";
    info.folder = "runs/" + id;
    info.folder_format = 3;
    info.shard = "2/5";
    info.plan = "0f1e2d";
    info.repeat_of = "first";
    info.column = "mps 15 (simulated)";
    info.isolation = "sandbox";
    info.hub = "generate";
    info.network = false;
    info.subset = {"tests/test_a.py", "-k", "a or b"};
    info.expectations_file = "/src/alpha/expectations.json";
    info.expectations = R"([{"test":"a.py::T::t"}])";
    return info;
}

inline parsers::Failure failure(const std::string& message) {
    parsers::Failure f;
    f.type = "AssertionError";
    f.message = message;
    f.traceback = "Traceback (most recent call last):\n  …\nAssertionError: " + message + "\n";
    f.frames = {{"/src/alpha/tests/test_a.py", 12, "test_x"}, {"/lib/unittest/case.py", 7, "fail"}};
    f.phase = parsers::Phase::teardown;
    f.counted = parsers::State::errored;
    return f;
}

inline parsers::CaseRecord test(const std::string& id, parsers::State state) {
    parsers::CaseRecord record;
    record.id = id;
    record.name = "name.of." + id;
    record.state = state;
    record.duration_s = 0.25;
    record.started = true;
    record.started_ms = 50'250;
    record.location = {"/src/alpha/tests/test_a.py", 11};
    return record;
}

// One attempt at `path`, with one case of every state.
inline JobResult job(const std::string& path, int attempt = 1) {
    JobResult result;
    auto& record = result.record;
    record.path = path;
    record.framework = "unittest";
    record.framework_version = "3.11.2";
    record.python_version = "3.11.2";
    record.outcome = parsers::ModuleOutcome::crashed;
    record.reason = "SIGSEGV";
    for (const auto name : parsers::kStateNames) {
        record.cases.push_back(
            test(path + "::T::test_" + std::string(name), *parsers::state_of(name)));
        record.cases.back().reason = "because of " + std::string(name);
    }
    record.collected = static_cast<std::int64_t>(record.cases.size());
    auto& failed = record.cases[1];
    failed.failure = failure("1 != 2\n- 1\n+ 2");
    failed.also = {failure("first more"), failure("second more")};
    failed.phase = parsers::Phase::setup;
    failed.subcases = {{"(i=3)", parsers::State::failed, "", failure("in the sub-test")},
                       {"(i=4)", parsers::State::skipped, "no reason", std::nullopt}};
    record.cases[2].pseudo = true;
    record.cases[3].call_state = parsers::State::passed;
    record.cases[0].generated = {{"datasets/org/d", "models/org/m"}, 25};
    record.cases[1].missing = {{"https://example.org/a.png", "models/org/none"}, 2};
    record.cases[2].location = {};
    record.device_events = {
        {record.cases[0].id, "redirect", "aten::empty", "cuda:0", "cpu", {"/src/a.py", 5}, 3},
        {"", "stub", "torch.cuda.is_available", "", "", {"", 0}, 1},
        {path + "::T::never_collected",
         "redirect",
         "aten::empty",
         "cuda:0",
         "cpu",
         {"/src/a.py", 5},
         2}};
    record.kernels = {{record.cases[0].id, "cpu", 12}, {"", "mps", 1}};
    record.collectives = {{record.cases[0].id, "all_reduce", "0", 2, {"/src/a.py", 7}, 6, 4096},
                          {"", "barrier", "1", 4, {"", 0}, 1, 0}};
    record.optimizer_steps = {{record.cases[0].id, 2, 6}, {"", 4, 1}};
    record.finished = true;
    record.from_text = true;
    record.shim = parsers::ShimSession{"0.1.0", "2.13.0", "cpu", "missing", "mps", true};
    record.diagnostics = {{"events", 120, "a line that is not JSON"}};
    record.closing = parsers::FrameworkSummary{"Ran 9 tests", 9, {{"failures", 1}, {"skipped", 1}}};
    record.ready = true;
    result.attempt = attempt;
    result.kind = attempt == 1 ? AttemptKind::whole : AttemptKind::again;
    record.forked = attempt == 1;
    if (attempt > 1) result.only = {path + "::T::test_failed"};
    result.started = at_second(50);
    result.duration_s = 1.5;
    result.user_s = 1.25;
    result.system_s = 0.125;
    result.max_rss_bytes = 123456789;
    result.peak_rss_bytes = 223456789;
    result.read_bytes = 4096;
    result.written_bytes = 8192;
    result.log = "modules/a/1.log";
    result.events = "modules/a/1.events.jsonl";
    result.devices = "modules/a/1.devices.jsonl";
    result.hub = "modules/a/1.hub.jsonl";
    result.process_end = "SIGSEGV";
    result.ended = {ProcessEnd::Kind::signaled, 11, "SIGSEGV", 223456789, true, 2.5};
    result.dropped_log_bytes = 42;
    result.leaked = {{4711, {"sleep", "1 000"}, false}};
    return result;
}

inline RunEnd end(std::int64_t second, bool complete = true) {
    RunEnd e;
    e.finished = at_second(second);
    e.duration_s = 12.5;
    e.complete = complete;
    e.exit_code = complete ? 3 : 130;
    e.accounting_closed = !complete;
    e.mismatches = {{"tests/test_a.py", "collected 9, ended 8"}, {"", "sums differ"}};
    e.not_run_reason = "interrupted";
    e.writes = {{"home", 2, 7, {{".cache/x", "new", 7}, {"y", "new", 0}}}};
    e.hub = HubUse{300,
                   1 << 20,
                   12,
                   2,
                   1,
                   {"model org/made", "https://example.org/a.png"},
                   {{"model org/none", "a test expects that"}},
                   {{"hub.lock.json", "the disk is full"}}};
    return e;
}

inline std::vector<StoredModule> modules_of(const Store& store, std::string_view run) {
    std::vector<StoredModule> modules;
    const auto seen = store.each_module(run, [&](StoredModule module) -> Expected<void> {
        modules.push_back(std::move(module));
        return {};
    });
    EXPECT_TRUE(seen) << to_line(seen.error());
    return modules;
}

}  // namespace compat::store::samples
