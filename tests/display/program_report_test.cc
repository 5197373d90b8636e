#include "runner/display/program_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::display {
namespace {

using ::testing::HasSubstr;

class ProgramReport : public ::testing::Test {
  protected:
    ProgramReport() {
        run.command = "python train.py";
        run.end = ProcessEnd::exited(0);
        run.took = std::chrono::milliseconds(1500);
        run.python = "/env/bin/python";
        run.cwd = "/home/me";
        run.record = "/tmp/r.jsonl";
        recorded.shim = parsers::ShimSession{"0.1.0", "2.13.0+cpu", "cpu", "missing", "", false};
        recorded.watched = 2;
        recorded.with_torch = 1;
    }
    void event(const char* kind, const char* op, const char* from, const char* file, int line,
               std::int64_t count, const char* test = "") {
        recorded.events.push_back({test, kind, op, from, "cpu", {file, line}, count});
    }
    [[nodiscard]] std::string text() const { return program_report(run, recorded); }

    ProgramRun run;
    parsers::DevicesResult recorded;
};

TEST_F(ProgramReport, AddsUpSitesOverTestsAndProcessesAndSortsByCount) {
    event("redirect", "aten::ones", "mps", "/elsewhere/lib.py", 9, 2);
    event("redirect", "aten::zeros", "cuda:1", "/home/me/train.py", 4, 3, "a");
    event("redirect", "aten::zeros", "cuda:1", "/home/me/train.py", 4, 4, "b");
    event("fold", "aten::to.device", "cpu:1", "", 0, 1);
    event("refusal", "torch._C._CUDAGraph", "", "/home/me/x/g.py", 7, 1);
    event("stub", "torch.cuda.nvtx", "", "/home/me/train.py", 8, 5);
    event("fallback", "aten::eigh", "mps:0", "/home/me/train.py", 9, 6);
    EXPECT_EQ(text(),
              "runner: python train.py: exit code 0 (1.5s)\n"
              "runner: shim redirects missing devices, host cpu, torch 2.13.0+cpu of "
              "/env/bin/python; 2 processes "
              "recorded, 1 with torch\n"
              "runner: 10 requests redirected at 3 places\n"
              "         7  redirect  aten::zeros      cuda:1 -> cpu  train.py:4\n"
              "         2  redirect  aten::ones       mps -> cpu     /elsewhere/lib.py:9\n"
              "         1  fold      aten::to.device  cpu:1 -> cpu   (no Python frame)\n"
              "runner: 6 calls fell back to the CPU at 1 place\n"
              "         6  aten::eigh  train.py:9\n"
              "runner: 1 call refused at 1 place\n"
              "         1  torch._C._CUDAGraph  x/g.py:7\n"
              "runner: 5 calls answered without effect at 1 place\n"
              "         5  torch.cuda.nvtx  train.py:8\n"
              "runner: record: /tmp/r.jsonl\n"
              "runner: `runner scan . --record /tmp/r.jsonl` lists what else names CUDA\n");
}

TEST_F(ProgramReport, ShowsRacesWithBothLines) {
    event("race", "aten::add_.Tensor", "", "/home/me/train.py", 9, 2);
    recorded.events.back().message =
        "writes self on stream 0, which did not wait for stream 2: aten::sum reads self at "
        "/home/me/data/loader.py:7";
    EXPECT_THAT(text(), HasSubstr("runner: 2 races between CUDA streams (--sanitize) at 1 place\n"
                                  "         2  train.py:9  aten::add_.Tensor writes self on stream "
                                  "0, which did not wait for stream 2: aten::sum reads self at "
                                  "data/loader.py:7\n"));
}

TEST_F(ProgramReport, CountsSitesThatAreNotShown) {
    for (int line = 1; line <= 15; ++line)
        event("redirect", "aten::ones", "cuda", "/home/me/a.py", line, line);
    EXPECT_THAT(text(), HasSubstr("runner: 120 requests redirected at 15 places\n        15  "));
    EXPECT_THAT(text(), HasSubstr("a.py:4\n         6  at 3 more places not shown here\n"));
    EXPECT_THAT(text(), ::testing::Not(HasSubstr("a.py:3\n")));
}

TEST_F(ProgramReport, ShowsCollectivesWithTheModelOfTheirTime) {
    recorded.collectives = {{"", "all_reduce", "0", 4, {"", 0}, 480, 480 * 3'000'000},
                            {"", "broadcast", "0", 4, {"/home/me/train.py", 31}, 8, 4096}};
    recorded.optimizer_steps = {{"", 4, 480}};
    run.link = {150, 10};
    EXPECT_THAT(text(),
                HasSubstr("runner: 0 requests redirected\n"
                          "runner: collectives: 4 ranks, 120 steps; 2.9 MiB a step a rank\n"
                          "       480  all_reduce  1.3 GiB  group 0 (4 ranks)  (no Python frame)\n"
                          "         8  broadcast   4.0 KiB  group 0 (4 ranks)  train.py:31\n"
                          "runner: NCCL ring model at 150 GB/s, 10 µs a call: 0.0402 ms a step "
                          "(a model, not a measurement)\n"));
    EXPECT_THAT(text(), ::testing::Not(HasSubstr("loses the events")));
    run.end = ProcessEnd::exited(1);  // torchrun's, which kills the other ranks
    EXPECT_THAT(text(), HasSubstr("loses the events that it had not written yet\n"));
}

TEST_F(ProgramReport, SaysWhyNothingWasRedirected) {
    EXPECT_THAT(text(), HasSubstr("runner: 0 requests redirected\n"));
    recorded.with_torch = 0;
    EXPECT_THAT(text(), HasSubstr("nothing was redirected: torch was not imported (2 processes)"));
    recorded.watched = 0;
    EXPECT_THAT(text(), HasSubstr("nothing was redirected: no Python process loaded the shim"));
    run.unwatched = "the shim was off";
    EXPECT_THAT(text(), HasSubstr("nothing was redirected: the shim was off\n"));
}

TEST_F(ProgramReport, SaysThatTheProgramCrashedOrTheRecordIsBroken) {
    run.end = ProcessEnd::signaled(11);
    recorded.diagnostics.push_back({"devices", 512, "this line was cut off"});
    event("redirect", "aten::\033[31m", "cuda", "/home/me/\n.py", 1, 1);
    EXPECT_THAT(text(), HasSubstr("runner: python train.py: SIGSEGV (1.5s)\n"));
    EXPECT_THAT(text(), HasSubstr("loses the events that it had not written yet\n"));
    EXPECT_THAT(text(), HasSubstr("runner: record, byte 512: this line was cut off\n"));
    EXPECT_THAT(text(), HasSubstr("aten::\\x1b[31m"));
    EXPECT_THAT(text(), HasSubstr("1 request redirected at 1 place\n"));
}

}  // namespace
}  // namespace compat::display
