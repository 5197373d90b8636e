// Runs tests/children/child.py as jobs on the real event loop and keeps what was said of them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "runner/base/files.h"
#include "runner/exec/loop.h"
#include "tests/paths.h"
#include "tests/support/temp_tree.h"

namespace compat::exec::test_support {

class ChildrenTest : public testing::Test {
  protected:
    Job job(std::vector<std::string> words) {
        Job job;
        job.name = "job" + std::to_string(jobs.size());
        job.id = run_id + "/" + std::to_string(jobs.size());
        job.argv = {"/usr/bin/python3", COMPAT_SOURCE_DIR "/tests/children/child.py"};
        job.argv.insert(job.argv.end(), words.begin(), words.end());
        job.cwd = dir;
        job.log = dir / (job.name + ".log");
        job.events = dir / (job.name + ".events");
        job.env = {{"PATH", "/usr/bin:/bin"},
                   {"ONLY", "this"},
                   {"COMPAT_JOB", job.id},
                   {"EVENTS", job.events}};
        return job;
    }
    Job& add(std::vector<std::string> words, Milliseconds timeout = Milliseconds(60'000)) {
        jobs.push_back(job(std::move(words)));
        jobs.back().timeout = timeout;
        return jobs.back();
    }
    // As the recorder does: a log that cannot be written stops the run.
    void run(int parallel = 2, std::function<void(const RunEvent&)> also = {}) {
        settings.parallel = parallel;
        run_jobs(jobs, settings, SystemClock(), [&](const RunEvent& event) -> Reply {
            Reply reply;
            if (const auto* done = std::get_if<JobFinished>(&event)) {
                finished[done->job] = *done;
                if (done->trouble) reply.stop = to_line(*done->trouble);
            }
            if (const auto* end = std::get_if<RunFinished>(&event)) ended = *end;
            if (also) also(event);
            return reply;
        });
    }
    std::string log(size_t index) { return read_file(jobs[index].log).value(); }
    std::string how(size_t index) { return describe(finished.at(index).end); }
    // The command lines of those that the job left behind, a word a space.
    std::vector<std::string> left_by(size_t index) {
        std::vector<std::string> lines;
        for (const auto& process : finished.at(index).leaked) {
            lines.emplace_back();
            for (const auto& word : process.argv) lines.back() += word + " ";
        }
        return lines;
    }

    test::TempTree tree;
    const std::filesystem::path& dir = tree.root();
    // Of this test alone: others run beside it.
    std::string run_id = "exec-test-" + tree.root().filename().string();
    Settings settings{.dump_grace = Milliseconds(200), .term_grace = Milliseconds(200)};
    std::vector<Job> jobs;
    std::map<size_t, JobFinished> finished;
    RunFinished ended;
};

}  // namespace compat::exec::test_support
