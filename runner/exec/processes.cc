#include "runner/exec/processes.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

namespace compat::exec {

namespace {

// Children that start_apart started, with the times at which they began.
struct ChildrenApart {
    std::mutex mutex;
    std::vector<std::pair<int, std::uint64_t>> started;
};

ChildrenApart& children_apart() {
    static ChildrenApart all;
    return all;
}

}  // namespace

// Under the lock, so that whoever sees the child in a list of processes also finds it here.
int start_apart(const std::function<int()>& start) {
    ChildrenApart& all = children_apart();
    const std::lock_guard lock(all.mutex);
    const int pid = start();
    const auto stat = pid > 0 ? process_table().find(pid) : std::nullopt;
    if (stat) all.started.emplace_back(pid, stat->start);
    return pid;
}

// After a list of processes was read.
void Processes::take_children_apart() {
    ChildrenApart& all = children_apart();
    const std::lock_guard lock(all.mutex);
    for (const auto& [pid, start] : all.started) preexisting_.insert_or_assign(pid, start);
}

std::string_view run_of(std::string_view job) { return job.substr(0, job.find('/')); }

Processes::Processes(ProcessTable& system) : system_(system), self_(::getpid()) {
    adopts_ = system_.adopt_orphans();
    for (const int pid : system_.pids()) {
        const auto stat = system_.find(pid);
        if (stat && stat->parent == self_) preexisting_.emplace(pid, stat->start);
    }
}

void Processes::add(int leader, const std::string& id, int init) {
    const auto stat = system_.find(leader);
    expected_.erase(id);
    jobs_[leader] = {id, stat ? stat->start : 0, 0, 0, init};
    if (init > 0) inits_[init] = leader;
}

void Processes::remove(int leader) {
    jobs_.erase(leader);
    std::erase_if(inits_, [&](const auto& init) { return init.second == leader; });
    for (auto& [pid, entry] : table_)
        if (entry.owner == leader) entry.owner = kFinishedJob;
    std::erase_if(sessions_, [&](const auto& session) { return session.second == leader; });
}

bool Processes::belongs_to_another(int pid, int leader) const {
    const auto known = table_.find(pid);
    if (known == table_.end()) return false;
    const int owner = known->second.owner;
    if (owner == kNoJob || owner == leader) return false;
    const auto stat = system_.find(pid);
    return stat && stat->start == known->second.stat.start;
}

// The init reaps what has ended. The list may lack a child while another ends.
bool Processes::has_orphans_of_init(int leader, int init) const {
    for (int round = 0; round < 2; ++round)
        for (const int pid : system_.children_of(init)) {
            const auto stat = pid == leader ? std::nullopt : system_.find(pid);
            if (stat && !stat->ended) return true;
        }
    return false;
}

bool Processes::has_orphans(int leader) {
    if (!adopts_) return true;
    const auto own = jobs_.find(leader);
    if (own != jobs_.end() && own->second.init > 0)
        return has_orphans_of_init(leader, own->second.init);
    // A process that has just ended may have left another one, so repeat until none has. A chain of
    // processes that fork and exit faster than we read counts as an orphan without being seen
    // alive.
    constexpr int kMostRounds = 100;
    // The list may lack a child while another ends: accept only two empty lists in a row.
    int quiet = 0;
    for (int round = 0; quiet < 2 && round < kMostRounds; ++round) {
        ++quiet;
        const std::vector<int> children = system_.children();
        take_children_apart();
        for (const int pid : children) {
            if (jobs_.contains(pid) || helpers_.contains(pid) || preexisting_.contains(pid))
                continue;
            if (system_.reap(pid)) {
                table_.erase(pid);
                quiet = 0;
            } else if (!belongs_to_another(pid, leader)) {
                return true;
            }
        }
    }
    return quiet < 2;
}

// By its COMPAT_JOB or tag. kNoJob: these name another process's job or none that runs. Nothing: it
// has neither.
std::optional<int> Processes::named_owner(int pid, const ProcessInfo& stat) const {
    if (const std::string id = system_.environment_value(pid, kJobVariable); !id.empty()) {
        for (const auto& [leader, job] : jobs_)
            if (job.id == id) return leader;
        if (expected_.contains(id)) return kNoJob;
    }
    if (const JobTag mark = system_.tag_of(pid); mark.leader != 0) {
        const auto job = jobs_.find(mark.leader);
        const bool its = job != jobs_.end() && job->second.start <= stat.start &&
                         run_hash(run_of(job->second.id)) == mark.run;
        return its ? mark.leader : kNoJob;
    }
    return std::nullopt;
}

int Processes::owner_of_orphan(int pid, const ProcessInfo& stat) const {
    if (const auto named = named_owner(pid, stat)) return *named;
    int only = kNoJob;
    for (const auto& [leader, job] : jobs_) {
        if (job.start > stat.start) continue;
        if (only != kNoJob) return kNoJob;
        only = leader;
    }
    return only;
}

// A child of process 1, where orphans become its children. Most of these are the system's own: only
// what is younger than a job is looked at, and only what names its job is the job's.
int Processes::owner_of_escaped(int pid, const ProcessInfo& stat) const {
    const bool may_be = std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
        return job.second.start <= stat.start;
    });
    return may_be ? named_owner(pid, stat).value_or(kNoJob) : kNoJob;
}

int Processes::determine_owner(int pid, const Entry& entry) {
    if (jobs_.contains(pid)) return pid;
    if (helpers_.contains(pid) || inits_.contains(pid)) return kNoJob;
    if (const auto init = inits_.find(entry.stat.parent); init != inits_.end()) return init->second;
    if (jobs_.contains(entry.stat.session)) return entry.stat.session;
    if (entry.owner != kNoJob) return entry.owner;
    if (const auto known = sessions_.find(entry.stat.session); known != sessions_.end())
        return known->second;
    const auto old = preexisting_.find(pid);
    if (old != preexisting_.end() && old->second == entry.stat.start) return kPreexisting;
    if (entry.stat.parent == self_) return owner_of_orphan(pid, entry.stat);
    if (entry.stat.parent == 1 && !adopts_) return owner_of_escaped(pid, entry.stat);
    return owner_of(entry.stat.parent);
}

int Processes::owner_of(int pid) {
    const auto it = table_.find(pid);
    if (it == table_.end() || pid == self_) return kNoJob;
    Entry& entry = it->second;
    if (entry.settled) return entry.owner;
    entry.settled = true;  // guards against a cycle in a table that changed during the scan
    return entry.owner = determine_owner(pid, entry);
}

bool Processes::scan() {
    bool ended = false;
    std::unordered_map<int, Entry> before;
    before.swap(table_);
    const std::vector<int> pids = system_.pids();
    take_children_apart();
    for (const int pid : pids) {
        auto stat = system_.find(pid);
        if (!stat) continue;
        const bool ours =
            jobs_.contains(pid) || helpers_.contains(pid) || preexisting_.contains(pid);
        if (stat->ended && stat->parent == self_ && !ours) {
            ended |= system_.reap(pid);
            continue;
        }
        Entry entry;
        const auto known = before.find(pid);
        if (known != before.end() && known->second.stat.start == stat->start)
            entry.owner = known->second.owner;
        entry.stat = std::move(*stat);
        table_.emplace(pid, std::move(entry));
    }
    for (auto& [leader, job] : jobs_) job.rss_bytes = 0;
    std::unordered_map<int, int> sessions;
    for (const auto& [pid, entry] : table_) {
        const int owner = owner_of(pid);
        if (owner == kFinishedJob && !entry.stat.ended)
            system_.signal(pid, entry.stat.start, SIGKILL);
        const auto job = jobs_.find(owner);
        if (job == jobs_.end()) continue;
        job->second.rss_bytes += entry.stat.rss_bytes;
        const int session = entry.stat.session;
        if (session == pid || sessions_.contains(session)) sessions[session] = job->first;
    }
    sessions_ = std::move(sessions);
    for (auto& [leader, job] : jobs_)
        job.peak_rss_bytes = std::max(job.peak_rss_bytes, job.rss_bytes);
    return ended;
}

std::uint64_t Processes::rss_bytes(int leader) const {
    const auto job = jobs_.find(leader);
    return job == jobs_.end() ? 0 : job->second.rss_bytes;
}

std::uint64_t Processes::peak_rss_bytes(int leader) const {
    const auto job = jobs_.find(leader);
    return job == jobs_.end() ? 0 : job->second.peak_rss_bytes;
}

std::uint64_t Processes::memory_bytes(int leader) const {
    std::uint64_t sum = 0;
    for (const auto& [pid, entry] : table_) {
        if (entry.owner != leader) continue;
        if (const auto share = system_.proportional_bytes(pid))
            sum += *share;
        else if (const auto stat = system_.find(pid))  // an exiting process has no PSS
            sum += stat->rss_bytes;
    }
    return sum;
}

std::vector<Processes::Descendant> Processes::descendants_of(int leader) const {
    std::vector<Descendant> left;
    for (const auto& [pid, entry] : table_)
        if (entry.owner == leader && pid != leader && !entry.stat.ended)
            left.push_back({pid, entry.stat});
    return left;
}

namespace {

// Processes of the run and their descendants, by pid, without ourselves and our ancestors.
std::map<int, ProcessInfo> survivors_of(std::string_view run, const ProcessTable& system) {
    const std::uint64_t marked = run_hash(run);
    const auto is_its = [&](int pid) {
        const JobTag mark = system.tag_of(pid);
        return (mark.leader != 0 && mark.run == marked) ||
               run_of(system.environment_value(pid, kJobVariable)) == run;
    };
    std::map<int, ProcessInfo> all, found;
    for (const int pid : system.pids())
        if (auto stat = system.find(pid)) all.emplace(pid, std::move(*stat));
    std::set<int> spared;
    for (int pid = ::getpid(); all.contains(pid) && spared.insert(pid).second;)
        pid = all.at(pid).parent;
    for (const auto& [pid, stat] : all)
        if (!stat.ended && !spared.contains(pid) && is_its(pid)) found.emplace(pid, stat);
    for (bool more = !found.empty(); more;) {
        more = false;
        for (const auto& [pid, stat] : all)
            if (!stat.ended && !spared.contains(pid) && found.contains(stat.parent))
                more |= found.emplace(pid, stat).second;
    }
    return found;
}

}  // namespace

std::vector<SurvivingProcess> end_survivors(std::string_view run, Milliseconds timeout,
                                            ProcessTable& system) {
    const SteadyTime until = std::chrono::steady_clock::now() + timeout;
    std::map<std::pair<int, std::uint64_t>, SurvivingProcess> ended;
    std::set<std::pair<int, std::uint64_t>> dying;  // before the first signal
    while (true) {
        for (const auto& [pid, stat] : survivors_of(run, system)) {
            const std::pair key(pid, stat.start);
            if (ended.contains(key)) continue;
            if (system.is_dying(pid)) dying.insert(key);
            ended[key] = {pid, system.argv(pid, stat), true, {}};
        }
        bool any_left = false;
        for (auto& [key, process] : ended) {
            const auto [pid, start] = key;
            system.signal(pid, start, SIGKILL);
            const auto stat = system.find(pid);
            process.killed = !stat || stat->start != start || stat->ended;
            process.state = process.killed ? "" : state_name(stat->state);
            any_left |= !process.killed;
        }
        if (!any_left || std::chrono::steady_clock::now() >= until) break;
        std::this_thread::sleep_for(Milliseconds(10));
    }
    std::vector<SurvivingProcess> list;
    for (auto& [key, process] : ended)
        if (!process.killed || !dying.contains(key)) list.push_back(std::move(process));
    return list;
}

}  // namespace compat::exec
