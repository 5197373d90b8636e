// A process table in memory, for the rules of ownership without real processes.
#pragma once

#include <map>

#include "runner/exec/process_table.h"

namespace compat::exec::test_support {

class FakeProcessTable : public ProcessTable {
  public:
    struct Process {
        ProcessInfo info;
        std::string job;  // the value of COMPAT_JOB
        bool dying = false;
        JobTag mark;
    };
    // A child of `parent` that began `start` ticks after boot.
    Process& add(int pid, int parent, std::uint64_t start = 1) {
        Process process;
        process.info = {"fake", 'S', parent, pid, pid, start, 1000, false};
        return processes[pid] = process;
    }

    std::vector<int> pids() const override {
        std::vector<int> all;
        for (const auto& [pid, process] : processes) all.push_back(pid);
        return all;
    }
    std::optional<ProcessInfo> find(int pid) const override {
        const auto it = processes.find(pid);
        if (it == processes.end()) return std::nullopt;
        return it->second.info;
    }
    std::vector<int> children() const override {
        std::vector<int> ours;
        for (const auto& [pid, process] : processes)
            if (process.info.parent == self) ours.push_back(pid);
        return ours;
    }
    std::vector<int> children_of(int parent) const override {
        std::vector<int> its;
        for (const auto& [pid, process] : processes)
            if (process.info.parent == parent) its.push_back(pid);
        return its;
    }
    bool is_dying(int pid) const override {
        const auto it = processes.find(pid);
        return it == processes.end() || it->second.dying;
    }
    std::optional<std::uint64_t> proportional_bytes(int) const override { return 10; }
    std::vector<std::string> argv(int pid, const ProcessInfo&) const override {
        return {"fake", std::to_string(pid)};
    }
    std::string environment_value(int pid, std::string_view) const override {
        const auto it = processes.find(pid);
        return it == processes.end() ? "" : it->second.job;
    }
    void tag_leader(int pid, std::string_view run) override {
        processes[pid].mark = {run_hash(run), pid};
    }
    JobTag tag_of(int pid) const override {
        const auto it = processes.find(pid);
        return it == processes.end() ? JobTag{} : it->second.mark;
    }
    bool adopt_orphans() override { return adopts; }
    // SIGKILL ends a process at once unless its state is D.
    void signal(int pid, std::uint64_t start, int) override {
        const auto it = processes.find(pid);
        if (it == processes.end() || it->second.info.start != start) return;
        signaled.push_back(pid);
        if (it->second.info.state != 'D') processes.erase(it);
    }
    bool reap(int pid) override {
        const auto it = processes.find(pid);
        if (it == processes.end() || !it->second.info.ended) return false;
        processes.erase(it);
        return true;
    }

    std::uint64_t memory_kills() const override { return kills; }
    std::uint64_t memory_limit() const override { return 1000u << 20; }

    std::uint64_t kills = 0;
    int self = 0;
    bool adopts = true;
    std::map<int, Process> processes;
    std::vector<int> signaled;
};

}  // namespace compat::exec::test_support
