// How the ranks of a group connect, and groups of a part of its ranks.
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "simulate/nccl/backend.h"
#include "simulate/nccl/errors.h"

namespace compat::shim::simulate {
namespace {

// The key in the store under which gloo's ranks find each other. Addresses of an earlier group may
// still be there: of a group that the same ranks made before, or of processes that torchrun has
// restarted. Each rank makes a group equally often, so its count is part of the key.
std::string gloo_key(c10d::Store& store, int rank) {
    const char* restarts = std::getenv("TORCHELASTIC_RESTART_COUNT");
    const std::string start = "compat_gloo/" + std::string(restarts ? restarts : "0") + "/";
    return start + std::to_string(store.add(start + "made/" + std::to_string(rank), 1));
}

}  // namespace

std::shared_ptr<const Transfers> NcclBackend::connect() {
    const auto store = c10::make_intrusive<c10d::PrefixStore>(gloo_key(*store_, getRank()), store_);
    try {
        auto gloo = make_gloo_(store, getRank(), getSize(), options_->timeout);
        // A rank that leaves at once would break the connections that others are still making.
        if (store->add("connected", 1) == getSize())
            store->set("all", std::vector<std::uint8_t>{1});
        store->wait({"all"}, options_->timeout);
        return std::make_shared<const Transfers>(std::move(gloo), cancellation_);
    } catch (const std::exception& error) {
        throw_backend_error("Rank " + std::to_string(global(getRank())) + " made the group " +
                            group_name() + " of " + std::to_string(getSize()) +
                            " ranks and waited for the others for " +
                            std::to_string(options_->timeout.count()) + " ms: " + error.what());
    }
}

c10::intrusive_ptr<c10d::Backend> NcclBackend::split(const StorePtr& store,
                                                     const std::vector<int>& ranks,
                                                     const OptionsPtr& opts) {
    ++splits_;
    const auto me = std::ranges::find(ranks, rank_);
    if (me == ranks.end()) return {};
    auto options = c10::make_intrusive<NcclOptions>();
    if (const auto* given = dynamic_cast<const NcclOptions*>(opts.get()))
        options->is_high_priority_stream = given->is_high_priority_stream;
    options->timeout = opts ? opts->timeout : options_->timeout;
    if (opts) options->group_name = opts->group_name;
    for (const int rank : ranks) options->global_ranks_in_group.push_back(global(rank));
    return new_group(store, static_cast<int>(me - ranks.begin()), static_cast<int>(ranks.size()),
                     options);
}

void NcclBackend::before_shrink(int flags) {
    if (flags == 0)
        waitForPendingWorks();
    else
        abort();
}

c10::intrusive_ptr<c10d::Backend> NcclBackend::shrink(const std::vector<std::int64_t>& left_out,
                                                      int flags, const OptionsPtr& opts) {
    std::vector<int> ranks;
    for (int rank = 0; rank < size_; ++rank)
        if (std::ranges::count(left_out, rank) == 0) ranks.push_back(rank);
    const auto me = std::ranges::find(ranks, rank_);
    TORCH_CHECK_VALUE(me != ranks.end(), "An excluded rank must not call ProcessGroupNCCL::shrink");
    before_shrink(flags);
    const auto* given = dynamic_cast<const NcclOptions*>(opts.get());
    auto options = c10::make_intrusive<NcclOptions>(given ? *given : *options_);
    options->group_name = group_name() + ":shrunk";
    options->split_from = {};
    options->split_color = NcclOptions().split_color;
    options->global_ranks_in_group.clear();
    // The ranks of the job's own group that are left are the job's from now on.
    if (!job_store_)
        for (const int rank : ranks) options->global_ranks_in_group.push_back(global(rank));
    const std::string prefix = "shrunk/" + c10::Join("/", ranks);
    return new_group(c10::make_intrusive<c10d::PrefixStore>(prefix, store_->clone()),
                     static_cast<int>(me - ranks.begin()), static_cast<int>(ranks.size()), options);
}

}  // namespace compat::shim::simulate
