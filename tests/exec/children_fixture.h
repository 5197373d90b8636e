// Runs tests/children/child.py as jobs on the real event loop and keeps their events. Time limits
// never depend on the speed of the machine: a test moves the clock when an event has happened.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <thread>

#include "runner/base/files.h"
#include "runner/exec/loop.h"
#include "tests/paths.h"
#include "tests/support/temp_tree.h"

namespace compat::exec::test_support {

// The system's clock, ahead by what tests have skipped.
class SkippingClock final : public Clock {
  public:
    [[nodiscard]] WallTime wall() const override { return system_.wall(); }
    [[nodiscard]] SteadyTime steady() const override { return system_.steady() + skipped_; }
    void skip(Milliseconds time) { skipped_ += time; }

  private:
    SystemClock system_;
    Milliseconds skipped_{};
};

// Longer than any machine needs: a limit that only a skip reaches.
inline constexpr Milliseconds kHour{3'600'000};

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
                   {"EVENTS", job.events.path()}};
        return job;
    }
    Job& add(std::vector<std::string> words, Milliseconds timeout = 100 * kHour) {
        jobs.push_back(job(std::move(words)));
        jobs.back().timeout = timeout;
        return jobs.back();
    }
    // Skips `time` when `happened` is true at an event. Calls are served in their order, one an
    // event.
    void skip_when(std::function<bool()> happened, Milliseconds time) {
        skips.push_back({std::move(happened), time});
    }
    // Like the recorder, stops the run when a log cannot be written.
    void run(int parallel = 2, std::function<void(const RunEvent&)> also = {},
             std::optional<Zygote> zygote = std::nullopt) {
        settings.parallel = parallel;
        const auto on_event = [&](const RunEvent& event) -> Reply {
            Reply reply;
            if (const auto* progress = std::get_if<JobProgress>(&event))
                progress_of[progress->job] = progress->progress;
            if (const auto* done = std::get_if<JobFinished>(&event)) {
                finished[done->job] = *done;
                if (done->infrastructure_error) reply.stop = to_line(*done->infrastructure_error);
            }
            if (std::holds_alternative<Tick>(event)) ++ticks;
            if (const auto* note = std::get_if<Note>(&event)) notes.push_back(note->text);
            if (const auto* end = std::get_if<RunFinished>(&event)) ended = *end;
            if (also) also(event);
            if (!skips.empty() && skips.front().happened()) {
                clock.skip(skips.front().time);
                skips.pop_front();
            }
            return reply;
        };
        run_jobs(jobs, settings, clock, on_event, std::move(zygote));
        EXPECT_TRUE(skips.empty()) << skips.size() << " events never happened";
    }
    std::string log(size_t index) { return read_file(jobs[index].log).value_or(""); }
    // A condition for skip_when.
    std::function<bool()> logged(size_t index, std::string text) {
        return [this, index, text] { return log(index).find(text) != std::string::npos; };
    }
    // A condition for skip_when: the job wrote `text`, and its memory has been read since then.
    std::function<bool()> measured(size_t index, std::string text) {
        return [this, logged = logged(index, text), first = -1]() mutable {
            constexpr int kTicks = 4;
            if (first < 0 && logged()) first = ticks;
            return first >= 0 && ticks >= first + kTicks;
        };
    }
    std::string how(size_t index) { return describe(finished.at(index).end); }
    std::chrono::duration<double> wall_time(size_t index) {
        return std::chrono::duration<double>(finished.at(index).cost.duration_s);
    }
    // The command lines of the processes that the job leaked, each word followed by a space.
    std::vector<std::string> leaked_by(size_t index) {
        std::vector<std::string> lines;
        for (const auto& process : finished.at(index).leaked) {
            lines.emplace_back();
            for (const auto& word : process.argv) lines.back() += word + " ";
        }
        return lines;
    }
    // False: not after a minute.
    static bool wait_until(const std::function<bool()>& happened) {
        for (int i = 0; i < 6000 && !happened(); ++i) std::this_thread::sleep_for(Milliseconds(10));
        return happened();
    }

    struct Skip {
        std::function<bool()> happened;
        Milliseconds time;
    };

    test::TempTree tree;
    const std::filesystem::path& dir = tree.root();
    // Unique: other tests run at the same time.
    std::string run_id = "exec-test-" + tree.root().filename().string();
    Settings settings{.dump_grace = Milliseconds(200), .term_grace = Milliseconds(200)};
    SkippingClock clock;
    std::deque<Skip> skips;
    int ticks = 0;
    std::vector<Job> jobs;
    std::map<size_t, Progress> progress_of;
    std::map<size_t, JobFinished> finished;
    std::vector<std::string> notes;
    RunFinished ended;
};

}  // namespace compat::exec::test_support
