#include "runner/display/porting_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/text.h"
#include "runner/display/columns.h"

namespace compat::display {

using reports::Column;
using reports::ColumnRow;
using reports::kColumns;
using reports::PortingColumn;
using reports::PortingView;

namespace {

// Indents of lines that belong to the line above.
constexpr size_t kIndent = 4, kDeep = 8;

class Summary {
  public:
    Summary(const PortingView& view, size_t columns) : view_(view), columns_(columns) {}

    std::string write(const fs::path& page) {
        text_ = "\n";
        add(fmt::format("{}: on simulated devices against plain CPU", printable(view_.suite)));
        add_cuda_uses();
        add_table();
        add_unloaded();
        if (const std::string words = reports::describe_generated(view_); !words.empty())
            add(words);
        for (const auto& mismatch : view_.accounting.mismatches)
            add_below(
                fmt::format("{}: {}", printable(mismatch.module), printable(mismatch.message)));
        for (const reports::InputDifference& input : view_.input_differences)
            add("not alike, " + printable(reports::describe_input_difference(input)));
        add(reports::describe_verdict(view_));
        if (!view_.causes.empty() && is_to_fix(view_.causes.front()))
            add(fmt::format("first: {} ({}; unblocks {})", printable(view_.causes.front().title),
                            describe_judgement(view_.causes.front()),
                            reports::describe_unblocked(view_.causes.front())));
        return text_ + "page: " + page.string() + "\n";
    }

  private:
    void add(std::string_view line) { text_ += wrapped(line, columns_, kIndent); }
    void add_below(std::string_view line, size_t indent = kIndent) {
        text_ += wrapped(std::string(indent, ' ').append(line), columns_, indent + kIndent);
    }

    // The counts, and the first place to change of each group.
    void add_cuda_uses() {
        const reports::CudaUses& uses = view_.cuda_uses;
        add("CUDA in its code: " + printable(reports::describe_cuda_uses(uses)));
        for (const reports::CudaUseGroup& group : uses.groups) {
            using enum analysis::Ran;
            add_below(fmt::format(
                "{}: {}{}", group.title, group.places,
                uses.has_record
                    ? fmt::format(" ({} ran, {} refused, {} did not, {} unknown)", group.count(yes),
                                  group.count(refused), group.count(no), group.count(unknown))
                    : ""));
            if (group.first.empty()) continue;
            const reports::CudaUseView& first = group.first.front();
            add_below(fmt::format("{}  {}{}", printable(first.place), printable(first.symbol),
                                  first.write.empty() ? "" : "  -> " + printable(first.write)),
                      kDeep);
        }
    }

    struct TableColumn {
        std::string_view above, head;  // two lines
        std::vector<std::string> cells{};

        [[nodiscard]] size_t width() const {
            size_t width = std::max(columns_of(above), columns_of(head));
            for (const std::string& cell : cells) width = std::max(width, columns_of(cell));
            return width;
        }
        [[nodiscard]] std::string name() const {
            return fmt::format("{}{}{}", above, above.empty() ? "" : " ", head);
        }
    };

    // Columns that do not fit follow in a line below.
    void add_table() {
        std::vector<TableColumn> table = columns_of_table();
        size_t width = 0;
        for (const TableColumn& column : table) width += column.width() + 1;
        std::vector<TableColumn> folded;
        while (--width > columns_ && table.size() > 2) {
            width -= table.back().width();
            folded.insert(folded.begin(), std::move(table.back()));
            table.pop_back();
        }
        const auto add_line = [&](auto cell) {
            std::string line;
            for (size_t i = 0; i < table.size(); ++i)
                line += i == 0 ? fmt::format("{:<{}}", cell(table[i]), table[i].width())
                               : fmt::format(" {:>{}}", cell(table[i]), table[i].width());
            text_ += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        };
        add_line([](const TableColumn& column) { return column.above; });
        add_line([](const TableColumn& column) { return column.head; });
        size_t at = 0;
        for (const ColumnRow& row : kColumns) {
            const PortingColumn& column = view_.at(row.column);
            if (!column.run) {
                add(fmt::format("{} is missing: {}", row.brief, printable(column.why_missing)));
                continue;
            }
            add_line([&](const TableColumn& c) -> const std::string& { return c.cells[at]; });
            std::vector<std::string> below;
            for (const TableColumn& c : folded)
                below.push_back(fmt::format("{}: {}", c.name(), c.cells[at]));
            if (!below.empty()) add_below(fmt::format("{}", fmt::join(below, ", ")));
            if (!column.why_missing.empty())
                add_below("not complete: " + printable(column.why_missing));
            ++at;
        }
    }

    [[nodiscard]] std::vector<TableColumn> columns_of_table() const {
        using enum reports::Group;
        const auto words = [](reports::Group group) {
            return reports::kGroupWords[static_cast<size_t>(group)];
        };
        std::vector<TableColumn> table{{"", ""},
                                       {"", "tests"},
                                       {"", "ok"},
                                       {"", "failing"},
                                       {"", "differ"},
                                       {"", words(loss)},
                                       {words(idle).substr(0, words(idle).rfind(' ')),
                                        words(idle).substr(words(idle).rfind(' ') + 1)},
                                       {"", words(gain)},
                                       {"used", "device"},
                                       {"", "time"}};
        for (const ColumnRow& row : kColumns) {
            const PortingColumn& column = view_.at(row.column);
            if (!column.run) continue;
            const auto [good, broken] = good_and_broken(column);
            const bool compared = row.column != kBaseline && view_.compared;
            const auto figure = [&](std::int64_t value) {
                return compared ? std::to_string(value) : std::string("-");
            };
            const std::string cells[] = {
                std::string(row.brief),
                std::to_string(column.totals.collected),
                std::to_string(good),
                std::to_string(broken),
                figure(column.differ),
                figure(column.count(loss)),
                figure(column.count(idle)),
                figure(column.count(gain)),
                row.shim ? std::to_string(column.used_accelerator) : "-",
                format_duration(std::chrono::duration<double>(column.run->duration_s))};
            for (size_t i = 0; i < table.size(); ++i) table[i].cells.push_back(cells[i]);
        }
        return table;
    }

    static std::pair<std::int64_t, std::int64_t> good_and_broken(const PortingColumn& column) {
        std::int64_t good = 0, broken = 0;
        for (size_t i = 0; i < column.totals.states.size(); ++i) {
            const auto state = static_cast<parsers::State>(i);
            if (analysis::needs_attention(state))
                broken += column.totals.states[i];
            else if (state != parsers::State::skipped && state != parsers::State::not_run)
                good += column.totals.states[i];
        }
        return {good, broken};
    }

    void add_unloaded() {
        constexpr size_t kShown = 5, kLongestLine = 160;
        if (view_.unloaded.empty()) return;
        add("modules not loaded: " + reports::describe_unloaded(view_));
        for (size_t i = 0; i < std::min(view_.unloaded.size(), kShown); ++i) {
            const reports::UnloadedModule& module = view_.unloaded[i];
            add_below(fmt::format("{} ({})", printable(module.module),
                                  reports::format_columns(module, view_)));
            add_below(cut_to(printable(module.key_line), kLongestLine), kDeep);
        }
        if (view_.unloaded.size() > kShown)
            add_below(fmt::format("… and {} more; see the page", view_.unloaded.size() - kShown));
    }

    const PortingView& view_;
    size_t columns_;
    std::string text_;
};

}  // namespace

std::string porting_summary(const PortingView& view, const fs::path& page, size_t columns) {
    return Summary(view, columns).write(page);
}

}  // namespace compat::display
