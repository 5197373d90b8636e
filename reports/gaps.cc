#include "reports/gaps.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/gap_parts.h"
#include "reports/json_parts.h"
#include "reports/markdown/text.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string format_target(const GapView& gap) {
    return gap.key.device + (gap.key.simulated ? " (simulated)" : "");
}

Json gap_json(const GapView& gap) {
    Json sites = Json::array();
    for (const GapSite& site : gap.sites)
        sites.push_back({{"file", site.file},
                         {"line", site.line},
                         {"url", or_null(site.url)},
                         {"count", site.count},
                         {"tests", site.tests}});
    return {{"symbol", gap.key.symbol},
            {"kind", name_of(gap.key.kind)},
            {"device", gap.key.device},
            {"simulated", gap.key.simulated},
            {"severity", gap.severity},
            {"status", gap.status},
            {"closed_by", or_null(gap.closed_by)},
            {"equivalent", or_null(gap.equivalent)},
            {"description", gap.description},
            {"action", or_null(gap.action)},
            {"issue", or_null(gap.issue)},
            {"first_seen", gap.first_seen},
            {"first_torch", gap.first_torch},
            {"last_seen", gap.last_seen},
            {"last_torch", gap.last_torch},
            {"tests", gap.tests},
            {"unblocked_alone", gap.unblocked_alone},
            {"hits", gap.hits},
            {"diagnoses", gap.diagnoses},
            {"sites", std::move(sites)}};
}

std::string gaps_json(const std::vector<GapView>& gaps) {
    Json list = Json::array();
    for (const GapView& gap : gaps) list.push_back(gap_json(gap));
    return Json{{"format", kGapsFormat}, {"gaps", std::move(list)}}.dump(
               1, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

std::string gap_row(const GapView& gap) {
    std::string where;
    if (!gap.sites.empty())
        where = linked_code(fmt::format("{}:{}", gap.sites[0].file, gap.sites[0].line),
                            gap.sites[0].url);
    std::string line = "|";
    for (const std::string& text :
         {std::to_string(gap.tests), "at most " + std::to_string(gap.unblocked_alone),
          code(gap.key.symbol), std::string(name_of(gap.key.kind)), format_target(gap),
          gap.severity, gap.equivalent.empty() ? html(gap.action) : code(gap.equivalent), where})
        line += fmt::format(" {} |", cell(text));
    return line + "\n";
}

std::string gaps_markdown(const std::vector<GapView>& gaps) {
    std::string text = fmt::format("# {} gaps\n\n{}", gaps.size(), kGapTableHead);
    for (const GapView& gap : gaps) text += gap_row(gap);
    return text;
}

}  // namespace compat::reports
