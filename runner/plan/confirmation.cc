#include "runner/plan/confirmation.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace compat::plan {

void Confirmations::add_result(const std::set<std::string>& forked,
                               const std::set<std::string>& fresh) {
    for (const std::string& signature : forked)
        (fresh.contains(signature) ? confirmed_ : refuted_).insert(signature);
}

std::vector<std::vector<std::string>> Confirmations::choose(
    const std::vector<UnconfirmedModule>& modules, std::set<std::string> claimed) const {
    std::vector<std::set<std::string>> open(modules.size());  // signatures to confirm, by module
    for (size_t i = 0; i < modules.size(); ++i)
        for (const ForkedFailure& failure : modules[i].failures)
            for (const std::string& signature : failure.signatures)
                if (!claimed.contains(signature) &&
                    (!confirmed_.contains(signature) || refuted_.contains(signature)))
                    open[i].insert(signature);

    std::vector<size_t> order(modules.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return std::forward_as_tuple(open[b].size(), modules[a].path) <
               std::forward_as_tuple(open[a].size(), modules[b].path);
    });

    std::vector<std::vector<std::string>> chosen(modules.size());
    for (const size_t i : order) {
        const auto is_due = [&](const std::string& signature) {
            return open[i].contains(signature) &&
                   (refuted_.contains(signature) || !claimed.contains(signature));
        };
        for (const ForkedFailure& failure : modules[i].failures)
            if (std::any_of(failure.signatures.begin(), failure.signatures.end(), is_due))
                chosen[i].push_back(failure.id);
        claimed.insert(open[i].begin(), open[i].end());
    }
    return chosen;
}

}  // namespace compat::plan
