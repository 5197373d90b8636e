#include "runner/run/scan/bisection.h"

#include <optional>
#include <utility>

namespace compat::run {

namespace {

class Search {
  public:
    Search(const std::vector<size_t>& group_of, const Trial& trial)
        : group_of_(group_of), trial_(trial) {}

    // Adds [begin, end) to what is kept, as far as nothing breaks. `broken`: what breaks with all of
    // it, if that is known. Returns whether all of it was kept.
    Expected<bool> add(size_t begin, size_t end, std::optional<std::vector<size_t>> broken) {
        if (!broken) {
            Changes changes = found.kept;
            for (size_t i = begin; i < end; ++i) changes.push_back(i);
            auto result = trial_(changes);
            if (!result) return tl::unexpected(result.error());
            if (!*result) {
                for (size_t i = begin; i < end; ++i) found.undecided.push_back(i);
                return false;
            }
            if ((*result)->empty()) {
                found.kept = std::move(changes);
                return true;
            }
            broken = std::move(**result);
        }
        if (end - begin == 1) {
            found.dropped.push_back({begin, std::move(*broken)});
            return false;
        }
        const size_t middle = middle_of(begin, end);
        const auto first = add(begin, middle, std::nullopt);
        if (!first) return first;
        // If the first half stays, adding the second is the trial that broke.
        if (!*first) broken.reset();
        const auto second = add(middle, end, std::move(broken));
        return second ? Expected<bool>(false) : second;
    }

    Bisection found;

  private:
    // Where the file changes, if it does; there the place nearest to the middle.
    [[nodiscard]] size_t middle_of(size_t begin, size_t end) const {
        const size_t middle = begin + (end - begin) / 2;
        size_t best = middle, distance = end - begin;
        for (size_t i = begin + 1; i < end; ++i) {
            const size_t away = i > middle ? i - middle : middle - i;
            if (group_of_[i] != group_of_[i - 1] && away < distance) {
                best = i;
                distance = away;
            }
        }
        return best;
    }

    const std::vector<size_t>& group_of_;
    const Trial& trial_;
};

}  // namespace

Expected<Bisection> bisect(const std::vector<size_t>& group_of, const Trial& trial) {
    Search search(group_of, trial);
    if (const auto all = search.add(0, group_of.size(), std::nullopt); !all)
        return tl::unexpected(all.error());
    return std::move(search.found);
}

}  // namespace compat::run
