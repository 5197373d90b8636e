// `bench_site FOLDER RUNS TESTS [SERIES]`: the time and memory of a site of RUNS runs of TESTS
// tests each, in SERIES series (1), of which 5 % are broken and 1 % change from run to run; of a
// test's history; and the size of each table. Makes the database in FOLDER/results where there is
// none.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "runner/base/files.h"
#include "runner/site/blame.h"
#include "runner/site/write_site.h"
#include "runner/store/store_impl.h"
#include "tests/bench/good.h"

namespace {

using namespace compat;
using bench::good;

constexpr int kTestsOfModule = 100;

store::StoredModule module_of(int number, int run, int tests) {
    store::JobResult job;
    job.record.path = fmt::format("tests/unit/group_{}/test_{:05}.py", number % 100, number);
    job.record.ready = true;
    job.duration_s = 1;
    for (int i = 0; i < tests; ++i) {
        auto& test = job.record.cases.emplace_back();
        test.id = fmt::format("{}::TestSomething::test_case[float32-{}]", job.record.path, i);
        test.name = test.id;
        test.duration_s = 0.01;
        const bool differs = i % 100 == 7 && (run + number) % 5 == 0;
        test.state = i % 20 == 0 || differs ? parsers::State::failed : parsers::State::passed;
        if (test.state == parsers::State::passed) continue;
        auto& failure = test.failure.emplace();
        failure.type = "AssertionError";
        failure.message = fmt::format("expected 1, got {}", i);
        failure.traceback = "Traceback (most recent call last): …";
        failure.signature = fmt::format("AssertionError: expected #, got # @ f{}", i % 50);
        failure.diagnosis = parsers::Diagnosis{
            parsers::Cause::suite_assertion, {}, {}, "rule", failure.first_line()};
    }
    store::StoredModule module{job.record.path, {}, {}, {}, {}};
    module.attempts.push_back(std::move(job));
    return module;
}

void fill(store::Store& store, int runs, int tests, int series) {
    for (int run = 0; run < runs; ++run) {
        store::RunInfo info;
        info.id = fmt::format("nightly_{:05}", run);
        info.suite = "bench";
        info.column = fmt::format("column {}", run % series);
        info.series = fmt::format("nightly-{}", run % series);
        info.framework = "pytest";
        info.device = "cpu";
        info.torch = "2.13.0";
        info.started = WallTime(Milliseconds(86'400'000LL * (run + 1)));
        info.folder = "runs/" + info.id;
        const auto added = store.add_run(
            {info, store::RunEnd{}, 0}, [&](const store::ModuleVisitor& see) -> Expected<void> {
                const int size = std::min(tests, kTestsOfModule);
                for (int module = 0; module < tests / size; ++module)
                    if (auto seen = see(module_of(module, run, size)); !seen) return seen;
                return {};
            });
        good(added);
    }
}

template <class Function>
auto timed(const char* what, Function function) {
    const auto since = std::chrono::steady_clock::now();
    auto result = function();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    fmt::print("{:<40} {:9.3f} s, {} MiB at most so far\n", what, took.count(),
               usage.ru_maxrss / 1024);
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        fmt::print(stderr, "usage: bench_site FOLDER RUNS TESTS [SERIES]\n");
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    const int runs = std::atoi(argv[2]), tests = std::atoi(argv[3]);
    const auto results = folder / "results";
    if (!make_directories(results / "runs")) return 1;
    if (!std::filesystem::exists(results / "runner.db")) {
        auto store = good(store::Store::open(results / "runner.db"));
        store.impl().database.execute("PRAGMA cache_size = -3000000");  // a run is one transaction
        fill(store, runs, tests, argc > 4 ? std::atoi(argv[4]) : 1);
        fmt::print("filled; run it again for the figures\n");
        return 0;
    }
    const auto store =
        good(store::Store::open(results / "runner.db", store::Store::Mode::read_only));
    const auto listed = timed("listing the runs", [&] { return good(store.runs()); });
    const std::string test =
        module_of(0, 0, std::min(tests, kTestsOfModule)).attempts[0].record.cases[0].id;
    (void)timed("blame", [&] { return good(site::blame(store, {test, {}, {}})); });
    for (const char* what : {"site", "site again, nothing changed"}) {
        const auto site =
            timed(what, [&] { return good(site::write_site(results, folder / "site")); });
        fmt::print("    {} runs; {} files, {} MiB, {} changed\n", listed.size(), site.files,
                   site.bytes >> 20, site.changed);
    }
    auto size = store.impl().database.prepare(
        "SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC LIMIT 12");
    while (size.step())
        fmt::print("    {:<28} {:9.1f} MiB\n", size.text(0),
                   static_cast<double>(size.integer(1)) / (1 << 20));
}
