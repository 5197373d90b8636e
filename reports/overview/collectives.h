// The collectives of a run for its reports: figures, the lines that call them, and a model of the
// time that NCCL would take. Not for the model itself (runner/analysis/collectives.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/analysis/collectives.h"

namespace compat::reports {

class LinkResolver;

struct CollectiveView {
    std::string op;
    std::string group;
    std::int64_t ranks = 0;
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    std::string file;  // as FrameView::file
    int line = 0;
    std::string url;
};

struct CollectivesView {
    analysis::CollectiveFigures figures;
    std::vector<CollectiveView> sites;  // those of the figures, with links
    analysis::CollectiveLink link;      // of the model

    [[nodiscard]] bool any() const { return figures.calls > 0; }
};

[[nodiscard]] CollectivesView collectives_view(analysis::CollectiveFigures figures,
                                               LinkResolver& links);

}  // namespace compat::reports
