// A launcher and a clock that a test controls: no processes, no waiting.
#pragma once

#include <map>

#include "runner/exec/launcher.h"

namespace compat::test {

class FakeClock final : public Clock {
  public:
    [[nodiscard]] WallTime wall() const override {
        return WallTime(Milliseconds(1'790'000'000'000)) + passed_;
    }
    [[nodiscard]] SteadyTime steady() const override { return SteadyTime(passed_); }
    void advance(Milliseconds by) { passed_ += by; }

  private:
    Milliseconds passed_{};
};

class FakeLauncher final : public exec::Launcher {
  public:
    struct Started {
        exec::Job job;
        std::function<void(exec::ChildResult)> on_end;
        std::vector<std::pair<char, int>> signals;  // 'l' leader or 'g' group, and the signal
        exec::ChildState state;                     // as the test sets it
        std::uint64_t shared_bytes = 0;             // counted more than once in state.rss_bytes
    };

    [[nodiscard]] Expected<std::unique_ptr<exec::Child>> start(
        const exec::Job& job, std::function<void(exec::ChildResult)> on_end) override {
        if (job.name == refused) return fail(ErrorKind::spawn, "cannot start it");
        if (!can_spawn) return nullptr;
        auto started = std::make_shared<Started>(Started{job, std::move(on_end), {}, {}});
        children[job.name] = started;
        order.push_back(job.name);
        return std::make_unique<Child>(started, static_cast<int>(order.size()));
    }
    void end(const std::string& name, ProcessEnd outcome = ProcessEnd::exited(0)) {
        exec::ChildResult ended;
        ended.end = outcome;
        children.at(name)->on_end(std::move(ended));
    }

    std::string refused;
    bool can_spawn = true;  // else: not now
    std::map<std::string, std::shared_ptr<Started>> children;
    std::vector<std::string> order;

  private:
    class Child final : public exec::Child {
      public:
        Child(std::shared_ptr<Started> started, int pid)
            : started_(std::move(started)), pid_(pid) {}
        [[nodiscard]] int pid() const override { return pid_; }
        [[nodiscard]] exec::ChildState state() const override { return started_->state; }
        [[nodiscard]] std::uint64_t memory_bytes() const override {
            return started_->state.rss_bytes - started_->shared_bytes;
        }
        void signal_leader(int signal) override { started_->signals.emplace_back('l', signal); }
        void signal_group(int signal) override { started_->signals.emplace_back('g', signal); }
        void give_up() override {
            const auto kept = started_;
            exec::ChildResult ended;
            ended.end = ProcessEnd::signaled(9);
            ended.leaked.push_back({pid_, {"stuck"}, false, "uninterruptible sleep (D)"});
            kept->on_end(std::move(ended));
        }

      private:
        std::shared_ptr<Started> started_;
        int pid_;
    };
};

}  // namespace compat::test
