#include "runner/store/gaps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "runner/base/version.h"
#include "runner/store/edge.h"
#include "runner/store/json_column.h"
#include "runner/store/query.h"
#include "runner/store/store_impl.h"

namespace compat::store {

namespace {

using nlohmann::json;

constexpr const char* kScan = "scan";

template <class Column>
void describe_key(GapKey& key, Column column) {
    COLUMNS(key, symbol, kind, device, simulated);
}

template <class Column>
void describe_hit(GapHit& hit, Column column) {
    describe_key(hit.key, column);
    COLUMNS(hit, test, file, line, count, blocks, diagnosis);
}

constexpr std::string_view kHitColumns =
    "symbol, gap.kind, gap.device, gap.simulated, test, file, line, count, blocks, diagnosis";

// By the values of its key's columns.
template <class... Values>
std::optional<std::int64_t> row_with(Database& database, const Values&... key) {
    Statement row = database.prepare(
        "SELECT id FROM gap WHERE symbol = ? AND kind = ? AND device = ? AND simulated = ?");
    row.bind_all(key...);
    if (!row.step()) return std::nullopt;
    return row.integer();
}

std::optional<std::int64_t> row_of(Database& database, const GapKey& key) {
    return row_with(database, key.symbol, name_of(key.kind), key.device, key.simulated);
}

void add(Database& database, const GapFacts& facts, std::string_view seen, std::string_view torch,
         bool scanned) {
    database.run(R"sql(
        INSERT INTO gap (symbol, kind, device, simulated, equivalent, description, severity, action,
            scanned, first_seen, first_torch, last_seen, last_torch)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10, ?11))sql",
                 facts.key.symbol, name_of(facts.key.kind), facts.key.device, facts.key.simulated,
                 facts.equivalent, facts.description, name_of(facts.severity), facts.action,
                 scanned, seen, torch);
}

// Adds or updates a gap. Manual fields stay; a run takes precedence over a scan, and an older torch
// never overwrites a newer one.
void put(Database& database, const GapFacts& facts, std::string_view seen, std::string_view torch,
         bool scanned) {
    const auto id = row_of(database, facts.key);
    if (!id) return add(database, facts, seen, torch, scanned);
    struct Known {
        bool by_scan = false, closed_by_scan = false;
        std::string last_torch;
        std::optional<std::string> closed_torch;
    };
    const auto known =
        Query<Known>(database.prepare("SELECT last_seen = 'scan' AS by_scan, last_torch, "
                                      "closed_by = 'scan' AS closed_by_scan, closed_torch "
                                      "FROM gap WHERE id = ?"),
                     [](Known& row, auto column) {
                         COLUMNS(row, by_scan, last_torch, closed_by_scan, closed_torch);
                     })
            .first(*id)
            .value();
    const bool newest =
        scanned == known.by_scan ? !is_older(torch, known.last_torch) : known.by_scan;
    const bool reopened = known.closed_torch && (!scanned || known.closed_by_scan) &&
                          !is_older(torch, *known.closed_torch);
    database.run(R"sql(
        UPDATE gap SET
            equivalent = iif(?1 AND instr(by_hand, '"equivalent"') = 0, ?2, equivalent),
            description = iif(?1 AND instr(by_hand, '"description"') = 0, ?3, description),
            severity = iif(?1 AND instr(by_hand, '"severity"') = 0, ?4, severity),
            action = iif(?1 AND instr(by_hand, '"action"') = 0, ?5, action),
            scanned = max(scanned, ?1),
            last_seen = iif(?6, ?7, last_seen),
            last_torch = iif(?6, ?8, last_torch),
            status = iif(?9, 'open', status),
            closed_by = iif(?9, NULL, closed_by),
            closed_torch = iif(?9, NULL, closed_torch)
        WHERE id = ?10)sql",
                 scanned, facts.equivalent, facts.description, name_of(facts.severity),
                 facts.action, newest, seen, torch, reopened, *id);
}

// A manually set status stays.
void close_gap(Database& database, const GapKey& key, std::string_view by, std::string_view torch) {
    database.run(
        "UPDATE gap SET status = 'fixed', closed_by = ?, closed_torch = ? WHERE symbol = ? AND "
        "kind = ? AND device = ? AND simulated = ? AND status = 'open' AND "
        "instr(by_hand, '\"status\"') = 0",
        by, torch, key.symbol, name_of(key.kind), key.device, key.simulated);
}

std::set<std::string> manual_fields_of(Database& database, std::int64_t gap) {
    Statement row = database.prepare("SELECT by_hand FROM gap WHERE id = ?");
    row.bind(1, gap);
    row.step();
    return from_column<std::set<std::string>>(row.text(), "gap.by_hand", gap);
}

void set_field(Database& database, std::int64_t gap, std::string_view field,
               std::string_view value) {
    auto manual = manual_fields_of(database, gap);
    manual.emplace(field);
    database.run(fmt::format("UPDATE gap SET {0} = ?1, by_hand = ?2, "
                             "closed_by = iif(?3 = 'status', NULL, closed_by), "
                             "closed_torch = iif(?3 = 'status', NULL, closed_torch) WHERE id = ?4",
                             field),
                 value, to_column(json(manual)), field, gap);
}

// A gap of another log: the text of each of kGapColumns.
using OtherGap = std::map<std::string_view, std::optional<std::string>>;

constexpr std::array<std::string_view, 18> kGapColumns{
    "symbol",     "kind",        "device",    "simulated",  "equivalent", "description",
    "severity",   "action",      "status",    "issue",      "by_hand",    "scanned",
    "first_seen", "first_torch", "last_seen", "last_torch", "closed_by",  "closed_torch"};

// Copies manual fields of another log's gap that are not manual here.
long take_fields(Database& database, const OtherGap& other) {
    const auto gap = row_with(database, other.at("symbol"), other.at("kind"), other.at("device"),
                              other.at("simulated"));
    const json theirs = json::parse(other.at("by_hand").value_or(""), nullptr, false);
    if (!gap || !theirs.is_array()) return 0;
    const auto ours = manual_fields_of(database, *gap);
    long taken = 0;
    for (const auto& [name, value] : other) {
        const std::string field(name);
        if (ours.contains(field) ||
            std::find(theirs.begin(), theirs.end(), json(field)) == theirs.end())
            continue;
        set_field(database, *gap, field, value.value_or(""));
        taken = 1;
    }
    return taken;
}

std::string torch_of(Database& database, std::int64_t run) {
    Statement torch = database.prepare("SELECT torch FROM run WHERE id = ?");
    torch.bind(1, run);
    torch.step();
    return torch.text();
}

// Gaps of `device` that only scans of this or an older torch found.
std::vector<GapKey> scanned_before(Database& database, std::string_view device,
                                   std::string_view torch) {
    struct Scanned {
        GapKey key;
        std::string last_torch;
    };
    Query<Scanned> query(
        database.prepare("SELECT symbol, kind, device, simulated, last_torch FROM gap "
                         "WHERE device = ? AND simulated = 0 AND last_seen = 'scan'"),
        [](Scanned& row, auto column) {
            describe_key(row.key, column);
            column("last_torch", row.last_torch);
        });
    std::vector<GapKey> keys;
    query.bind(device).each([&](Scanned&& row) {
        if (!is_older(torch, row.last_torch)) keys.push_back(std::move(row.key));
    });
    return keys;
}

// Later runs on the same target, with the shim if `run` had it, whose passes say something: none
// that kept going where the device refuses, and of an operator none in which the CPU computed it.
std::string is_later() {
    return "later.id > run.id AND later.suite = run.suite AND later.device = run.device AND "
           "later.simulated IS run.simulated AND later.shim >= run.shim AND "
           "later.finished_ms IS NOT NULL AND later.gives_verdicts"
           " AND (later.fallback <= run.fallback OR gap.kind <> 'op_unsupported')";
}

}  // namespace

Expected<void> GapLog::put_scan(const std::vector<GapFacts>& gaps, std::string_view device,
                                std::string_view torch) {
    Database& database = store_.impl().database;
    return write(database, [&]() -> Expected<void> {
        std::set<GapKey> found;
        for (const GapFacts& facts : gaps) {
            put(database, facts, kScan, torch, true);
            found.insert(facts.key);
        }
        for (const GapKey& key : scanned_before(database, device, torch))
            if (!found.contains(key)) close_gap(database, key, kScan, torch);
        return {};
    });
}

Expected<void> GapLog::put_run(std::string_view run,
                               const std::function<Expected<GapsOfRun>()>& compute) {
    Database& database = store_.impl().database;
    return write(database, [&]() -> Expected<void> {
        const auto row = TRY(run_row(database, run));
        const auto gaps = TRY(compute());
        const std::string torch = torch_of(database, row);
        for (const GapFacts& facts : gaps.met) put(database, facts, run, torch, false);
        database.run("DELETE FROM gap_hit WHERE run = ?", row);
        Statement add = database.prepare(
            "INSERT INTO gap_hit (gap, run, test, file, line, count, blocks, diagnosis) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
        for (const GapHit& hit : gaps.hits)
            if (const auto gap = row_of(database, hit.key)) {
                add.run(*gap, row, hit.test, hit.file, hit.line, hit.count, hit.blocks,
                        hit.diagnosis);
            }
        for (const GapKey& key : gaps.closed) close_gap(database, key, run, torch);
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
        set_field(database, *row, field, value);
        return {};
    });
}

Expected<GapLog::Added> GapLog::add_missing_from(const GapLog& from) {
    Database& database = store_.impl().database;
    Added taken;
    auto written = write(database, [&]() -> Expected<void> {
        const std::string columns = fmt::format("{}", fmt::join(kGapColumns, ", "));
        Statement add = database.prepare(fmt::format(
            "INSERT INTO gap ({}) VALUES ({}) ON CONFLICT DO NOTHING RETURNING id", columns,
            fmt::join(std::vector<std::string_view>(kGapColumns.size(), "?"), ", ")));
        const auto read = guarded(from.store_.impl().database.file(), [&]() -> Expected<void> {
            Query<OtherGap> theirs(
                from.store_.impl().database.prepare(fmt::format("SELECT {} FROM gap", columns)),
                [](OtherGap& row, auto column) {
                    for (const auto name : kGapColumns) column(name, row[name]);
                });
            theirs.each([&](const OtherGap& gap) {
                int place = 0;
                for (const auto name : kGapColumns) add.bind(++place, gap.at(name));
                const bool is_new = add.step();
                add.reset();
                taken.entries += is_new ? 1 : take_fields(database, gap);
            });
            return {};
        });
        if (!read) taken.read_error = read.error();
        return {};
    });
    if (!written) return tl::unexpected(written.error());
    return taken;
}

Expected<std::vector<StoredGap>> GapLog::gaps() const {
    Database& database = store_.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<StoredGap>> {
        Query<StoredGap> query(
            database.prepare(R"sql(
            SELECT symbol, kind, device, simulated, equivalent, description, severity, action,
                status, issue, by_hand, scanned, first_seen, first_torch, last_seen, last_torch,
                closed_by, id
            FROM gap
            ORDER BY symbol, kind, device, simulated)sql"),
            [](StoredGap& gap, auto column) {
                describe_key(gap.facts.key, column);
                COLUMNS(gap.facts, equivalent, description, severity, action);
                COLUMNS(gap, status, issue, scanned, first_seen, first_torch, last_seen, last_torch,
                        closed_by);
                column("by_hand", gap.manual_fields);
            },
            "gap");
        return query.all();
    });
}

Expected<std::vector<GapHit>> GapLog::hits(std::string_view run) const {
    Database& database = store_.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<GapHit>> {
        Query<GapHit> query(
            database.prepare(fmt::format(
                "SELECT {} FROM gap_hit JOIN gap ON gap.id = gap_hit.gap JOIN run ON "
                "run.id = gap_hit.run WHERE run.name = ? AND count > 0 ORDER BY gap_hit.id",
                kHitColumns)),
            [](GapHit& row, auto column) { describe_hit(row, column); });
        return query.all(run);
    });
}

Expected<std::vector<CurrentHit>> GapLog::current_hits() const {
    Database& database = store_.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<CurrentHit>> {
        // For a pseudo-case ("a.py::<module>") any test of the module counts.
        Query<CurrentHit> query(database.prepare(fmt::format(R"sql(
            SELECT {0}, suite.name AS suite, run.name AS run
            FROM gap_hit
            JOIN gap ON gap.id = gap_hit.gap
            JOIN run ON run.id = gap_hit.run
            JOIN suite ON suite.id = run.suite
            WHERE count > 0 AND NOT EXISTS (
                SELECT 1
                FROM run AS later
                CROSS JOIN test ON test.suite = later.suite
                CROSS JOIN result ON result.run = later.id AND result.test = test.id
                WHERE test.case_id BETWEEN
                      iif(instr(gap_hit.test, '::<'),
                          substr(gap_hit.test, 1, instr(gap_hit.test, '::<') + 1), gap_hit.test)
                      AND iif(instr(gap_hit.test, '::<'),
                              substr(gap_hit.test, 1, instr(gap_hit.test, '::<')) || ';',
                              gap_hit.test)
                  AND result.verdict = 1
                  AND result.state NOT IN ('skipped', 'not_run') AND {1})
            AND NOT (gap_hit.test = '' AND EXISTS (
                SELECT 1 FROM run AS later WHERE later.complete = 1 AND {1}))
            ORDER BY gap_hit.id)sql",
                                                             kHitColumns, is_later())),
                                [](CurrentHit& row, auto column) {
                                    describe_hit(row.hit, column);
                                    COLUMNS(row, suite, run);
                                });
        return query.all();
    });
}

Expected<std::vector<BlockedTest>> GapLog::blocked_tests(std::string_view before) const {
    Database& database = store_.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<BlockedTest>> {
        Query<BlockedTest> query(database.prepare(R"sql(
            SELECT DISTINCT symbol, kind, gap.device, gap.simulated, suite.name AS suite,
                gap_hit.test,
                run.device = ours.device AND run.simulated IS ours.simulated AS same_target
            FROM gap_hit
            JOIN gap ON gap.id = gap_hit.gap
            JOIN run ON run.id = gap_hit.run
            JOIN suite ON suite.id = run.suite
            LEFT JOIN run AS ours ON ours.name = ?1
            WHERE gap_hit.blocks AND run.name <> ?1 AND NOT EXISTS (
                SELECT 1
                FROM gap_hit AS passed
                JOIN run AS later ON later.id = passed.run
                WHERE passed.gap = gap_hit.gap AND passed.test = gap_hit.test AND passed.count = 0
                  AND passed.run > gap_hit.run AND later.suite = run.suite AND later.name <> ?1
                  AND later.device = run.device AND later.simulated IS run.simulated))sql"),
                                 [](BlockedTest& row, auto column) {
                                     describe_key(row.gap, column);
                                     COLUMNS(row, suite, test, same_target);
                                 });
        return query.all(before);
    });
}

}  // namespace compat::store
