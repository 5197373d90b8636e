#include "runner/store/gaps.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/store/edge.h"
#include "runner/store/json_column.h"
#include "runner/store/store_impl.h"

namespace compat::store {

namespace {

using nlohmann::json;

constexpr const char* kScan = "scan";

template <class Enum, size_t N>
Enum word(const std::array<std::string_view, N>& names, const std::string& text) {
    const auto it = std::find(names.begin(), names.end(), text);
    if (it == names.end()) throw SqlError(SQLITE_CORRUPT, fmt::format("unknown word '{}'", text));
    return static_cast<Enum>(it - names.begin());
}

GapKey key_of(const Statement& row, int first) {
    return {row.text(first), word<GapKind>(kGapKindNames, row.text(first + 1)), row.text(first + 2),
            row.flag(first + 3)};
}

// `first`: the key's four columns, then test, file, line, count, blocks.
GapHit hit_of(const Statement& row, int first) {
    GapHit hit;
    hit.key = key_of(row, first);
    hit.test = row.text(first + 4);
    hit.file = row.text(first + 5);
    hit.line = static_cast<int>(row.integer(first + 6));
    hit.count = row.integer(first + 7);
    hit.blocks = row.flag(first + 8);
    return hit;
}

constexpr std::string_view kHitColumns =
    "symbol, gap.kind, gap.device, gap.simulated, test, file, line, count, blocks";

std::optional<std::int64_t> row_of(Database& database, const GapKey& key) {
    Statement row = database.prepare(
        "SELECT id FROM gap WHERE symbol = ? AND kind = ? AND device = ? AND simulated = ?");
    row.bind_all(key.symbol, name_of(key.kind), key.device, key.simulated);
    if (!row.step()) return std::nullopt;
    return row.integer(0);
}

// What was set by hand stays: `by_hand` is a list of columns.
void put(Database& database, const GapFacts& facts, std::string_view seen, std::string_view torch,
         bool scanned) {
    Statement row = database.prepare(R"sql(
        INSERT INTO gap (symbol, kind, device, simulated, equivalent, description, severity, action,
            scanned, first_seen, first_torch, last_seen, last_torch)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10, ?11)
        ON CONFLICT (symbol, kind, device, simulated) DO UPDATE SET
            equivalent = iif(?9 AND instr(by_hand, '"equivalent"') = 0, ?5, equivalent),
            description = iif(?9 AND instr(by_hand, '"description"') = 0, ?6, description),
            severity = iif(?9 AND instr(by_hand, '"severity"') = 0, ?7, severity),
            action = iif(?9 AND instr(by_hand, '"action"') = 0, ?8, action),
            scanned = max(scanned, ?9),
            last_seen = iif(?9 AND last_seen <> 'scan', last_seen, ?10),
            last_torch = ?11,
            status = iif(?9 = 0 AND status = 'fixed', 'open', status),
            closed_by = iif(?9, closed_by, NULL))sql");
    row.bind_all(facts.key.symbol, name_of(facts.key.kind), facts.key.device, facts.key.simulated,
                 facts.equivalent, facts.description, name_of(facts.severity), facts.action,
                 scanned, seen, torch);
    row.run();
}

}  // namespace

Expected<void> GapLog::put_scan(const std::vector<GapFacts>& gaps, std::string_view torch) {
    Database& database = store_.impl().database;
    return write(database, [&]() -> Expected<void> {
        for (const GapFacts& facts : gaps) put(database, facts, kScan, torch, true);
        return {};
    });
}

Expected<void> GapLog::put_hits(std::string_view run, const std::vector<GapFacts>& met,
                                const std::vector<GapHit>& hits) {
    Database& database = store_.impl().database;
    return write_to(database, run, [&](std::int64_t row) {
        Statement torch = database.prepare("SELECT torch FROM run WHERE id = ?");
        torch.bind(1, row);
        torch.step();
        const std::string version = torch.text(0);
        torch.reset();
        for (const GapFacts& facts : met) put(database, facts, run, version, false);
        Statement erase = database.prepare("DELETE FROM gap_hit WHERE run = ?");
        erase.bind(1, row);
        erase.run();
        Statement add = database.prepare(
            "INSERT INTO gap_hit (gap, run, test, file, line, count, blocks) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)");
        for (const GapHit& hit : hits)
            if (const auto gap = row_of(database, hit.key)) {
                add.bind_all(*gap, row, hit.test, hit.file, hit.line, hit.count, hit.blocks);
                add.run();
            }
    });
}

Expected<void> GapLog::close(const std::vector<GapKey>& gaps, std::string_view run) {
    Database& database = store_.impl().database;
    return write(database, [&]() -> Expected<void> {
        Statement close = database.prepare(
            "UPDATE gap SET status = 'fixed', closed_by = ? WHERE symbol = ? AND kind = ? AND "
            "device = ? AND simulated = ? AND status = 'open'");
        for (const GapKey& key : gaps) {
            close.bind_all(run, key.symbol, name_of(key.kind), key.device, key.simulated);
            close.run();
        }
        return {};
    });
}

Expected<void> GapLog::set(const GapKey& gap, std::string_view field, std::string_view value) {
    Database& database = store_.impl().database;
    return write(database, [&]() -> Expected<void> {
        const auto row = row_of(database, gap);
        if (!row || std::find(kGapFields.begin(), kGapFields.end(), field) == kGapFields.end())
            return fail(ErrorKind::usage,
                        fmt::format("the gap log has no {} of {}", field, gap.symbol),
                        "`runner gaps list` prints what it has");
        Statement hands = database.prepare("SELECT by_hand FROM gap WHERE id = ?");
        hands.bind(1, *row);
        hands.step();
        auto by_hand = json::parse(hands.text(0)).get<std::set<std::string>>();
        hands.reset();
        by_hand.emplace(field);
        Statement set = database.prepare(
            fmt::format("UPDATE gap SET {} = ?, by_hand = ?, closed_by = iif(? = 'status', NULL, "
                        "closed_by) WHERE id = ?",
                        field));
        set.bind_all(value, to_column(json(by_hand)), field, *row);
        set.run();
        return {};
    });
}

Expected<std::vector<StoredGap>> GapLog::gaps() const {
    Database& database = store_.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<StoredGap>> {
        Statement row = database.prepare(R"sql(
            SELECT symbol, kind, device, simulated, equivalent, description, severity, action,
                status, issue, by_hand, scanned, first_seen, first_torch, last_seen, last_torch,
                closed_by
            FROM gap
            ORDER BY symbol, kind, device, simulated)sql");
        std::vector<StoredGap> gaps;
        while (row.step()) {
            StoredGap& gap = gaps.emplace_back();
            gap.facts.key = key_of(row, 0);
            gap.facts.equivalent = row.text(4);
            gap.facts.description = row.text(5);
            gap.facts.severity = word<Severity>(kSeverityNames, row.text(6));
            gap.facts.action = row.text(7);
            gap.status = row.text(8);
            gap.issue = row.text(9);
            gap.by_hand = json::parse(row.text(10)).get<std::set<std::string>>();
            gap.scanned = row.flag(11);
            gap.first_seen = row.text(12);
            gap.first_torch = row.text(13);
            gap.last_seen = row.text(14);
            gap.last_torch = row.text(15);
            gap.closed_by = row.optional_text(16);
        }
        return gaps;
    });
}

Expected<std::vector<GapHit>> GapLog::hits(std::string_view run) const {
    Database& database = store_.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<GapHit>> {
        Statement row = database.prepare(
            fmt::format("SELECT {} FROM gap_hit JOIN gap ON gap.id = gap_hit.gap JOIN run ON "
                        "run.id = gap_hit.run WHERE run.name = ? ORDER BY gap_hit.id",
                        kHitColumns));
        row.bind(1, run);
        std::vector<GapHit> hits;
        while (row.step()) hits.push_back(hit_of(row, 0));
        return hits;
    });
}

Expected<std::vector<CurrentHit>> GapLog::current_hits() const {
    Database& database = store_.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<CurrentHit>> {
        Statement row = database.prepare(fmt::format(R"sql(
            SELECT {}, suite.name, run.name
            FROM (SELECT max(id) AS id FROM run WHERE finished_ms IS NOT NULL
                  GROUP BY suite, device, coalesce(simulated, '')) AS latest
            JOIN run ON run.id = latest.id
            JOIN suite ON suite.id = run.suite
            JOIN gap_hit ON gap_hit.run = run.id
            JOIN gap ON gap.id = gap_hit.gap
            ORDER BY gap_hit.id)sql",
                                                     kHitColumns));
        std::vector<CurrentHit> hits;
        while (row.step()) hits.push_back({hit_of(row, 0), row.text(9), row.text(10)});
        return hits;
    });
}

}  // namespace compat::store
