#include "reports/overview/collectives.h"

#include <utility>

#include "reports/links.h"

namespace compat::reports {

CollectivesView collectives_view(analysis::CollectiveFigures figures, LinkResolver& links) {
    CollectivesView view;
    for (const analysis::CollectiveSite& site : figures.sites) {
        CollectiveView& shown = view.sites.emplace_back();
        shown.op = site.op;
        shown.group = site.group;
        shown.ranks = site.ranks;
        shown.count = site.count;
        shown.bytes = site.bytes;
        shown.file = links.shown(site.location.file);
        shown.line = site.location.line;
        if (!links.in_suite(site.location.file)) continue;
        links.count(site.location);
        shown.url = links.resolve(site.location);
    }
    view.figures = std::move(figures);
    return view;
}

}  // namespace compat::reports
