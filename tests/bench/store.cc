// `bench_store FOLDER`: the times of what is asked of a database with a long history, which it
// makes in FOLDER where there is none: 300 runs of 50 modules of 100 tests. Then
// `runner runs --results FOLDER` lists them.
#include "runner/store/store.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "runner/base/files.h"
#include "runner/store/compared_runs.h"
#include "runner/store/store_impl.h"
#include "tests/bench/good.h"

namespace {

using namespace compat;
using bench::good;
using namespace compat::store;

constexpr int kRuns = 300, kModules = 50, kTests = 100, kSubtests = 2000;

RunInfo info(const std::string& id, int second) {
    RunInfo info;
    info.id = id;
    info.suite = "bench";
    info.series = "nightly";
    info.framework = "pytest";
    info.started = WallTime(Milliseconds(second * 1000LL));
    info.folder = "runs/" + id;
    return info;
}

JobResult job(int module, int tests, int subtests) {
    JobResult job;
    job.record.path = fmt::format("tests/test_{:03}.py", module);
    job.duration_s = module;
    for (int i = 0; i < tests; ++i) {
        auto& test = job.record.cases.emplace_back();
        test.id = fmt::format("{}::Test::test_{}", job.record.path, i);
        test.name = test.id;
        test.state = i % 20 == 0 ? parsers::State::failed : parsers::State::passed;
        if (test.state == parsers::State::failed) {
            auto& failure = test.failure.emplace();
            failure.type = "AssertionError";
            failure.message = "expected 1, got 2";
            failure.traceback = "Traceback (most recent call last): …";
        }
        for (int sub = 0; sub < subtests; ++sub)
            test.subcases.push_back(
                {fmt::format("(i={})", sub), parsers::State::failed, "",
                 parsers::Failure{"AssertionError", "no", "…", {}, {}, {}, {}, {}}});
    }
    return job;
}

void fill(Store& store) {
    for (int run = 0; run < kRuns; ++run) {
        const std::string id = fmt::format("run-{}", run);
        good(store.add_run({info(id, run), RunEnd{}, 0},
                           [&](const ModuleVisitor& see) -> Expected<void> {
                               for (int module = 0; module < kModules; ++module) {
                                   StoredModule stored;
                                   stored.attempts.push_back(job(module, kTests, 0));
                                   stored.path = stored.attempts[0].record.path;
                                   if (auto seen = see(std::move(stored)); !seen) return seen;
                               }
                               return {};
                           }));
    }
}

template <class Function>
void timed(const char* what, Function function) {
    const auto since = std::chrono::steady_clock::now();
    function();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - since;
    fmt::print("{:<60} {:8.1f} ms\n", what, took.count());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: bench_store FOLDER\n");
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    good(make_directories(folder / "runs"));
    const bool is_new = !std::filesystem::exists(folder / "runner.db");
    auto store = good(Store::open(folder / "runner.db"));
    if (is_new) timed("writing 300 runs of 5,000 results", [&] { fill(store); });
    timed("listing them", [&] { good(store.runs()); });
    timed("the past of the suite", [&] { good(store.past_of("bench")); });
    timed("the modules of 100 runs", [&] {
        for (int run = 0; run < 100; ++run)
            good(store.each_module(fmt::format("run-{}", run),
                                   [](StoredModule) -> Expected<void> { return {}; }));
    });
    timed("the flaky tests of 300 runs", [&] {
        for (int run = 0; run < kRuns; ++run)
            good(flaky_results(store, fmt::format("run-{}", run)));
    });
    const std::string id = fmt::format("sub-tests-{}", good(store.runs()).size());
    good(store.begin_run(info(id, kRuns + 1)));
    good(store.save_job(id, job(0, 1, kSubtests)));
    timed("deleting a module with 2,000 failed sub-tests", [&] {
        store.impl().database.execute("DELETE FROM module WHERE run = (SELECT max(id) FROM run)");
    });
    store.impl().database.execute("DELETE FROM run WHERE id = (SELECT max(id) FROM run)");
}
