#include "runner/store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <thread>
#include <unordered_map>

#include "runner/base/names.h"
#include "runner/base/run/subset.h"
#include "runner/store/json_column.h"

namespace compat::store {

namespace {

constexpr int kPrimaryCode = 0xff;
constexpr std::size_t kIdleStatements = 64;

void sql_subset(sqlite3_context* context, int, sqlite3_value** values) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
    const auto argv = nlohmann::json::parse(text ? text : "", nullptr, false);
    const bool is_words = argv.is_array() && std::ranges::all_of(argv, &nlohmann::json::is_string);
    const std::string subset = to_column(is_words ? subset_of_older_run(argv) : Subset());
    sqlite3_result_text(context, subset.data(), static_cast<int>(subset.size()), SQLITE_TRANSIENT);
}

}  // namespace

struct Database::State {
    struct Close {
        void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
    };
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    using IdleStatement = std::unique_ptr<sqlite3_stmt, Finalize>;

    fs::path file;
    std::unique_ptr<sqlite3, Close> connection;
    std::unordered_multimap<std::string, IdleStatement> idle;  // by their SQL
    std::function<int()> step_hook;
    std::function<void(std::string_view)> prepare_hook;

    [[noreturn]] void raise(int code) const {
        throw SqlError(code & kPrimaryCode, sqlite3_errmsg(connection.get()));
    }
};

std::int64_t text_hash(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return static_cast<std::int64_t>(hash);
}

std::string how_to_rebuild(const fs::path& file) {
    return fmt::format("`runner reparse --all --results {}` rebuilds it from the runs' folders",
                       shell_quoted(file.parent_path().string()));
}

constexpr const char* kFreeSpace = "what had finished is stored; free some space and run again";

// SQLite calls it an I/O error where it makes room for its shared memory, and keeps no errno.
bool has_no_room(const fs::path& file) {
    constexpr std::uintmax_t kSharedMemory = 32 << 10;
    std::error_code error;
    const auto space = fs::space(file.parent_path(), error);
    return !error && space.available < kSharedMemory;
}

// Further advice where files may not grow beyond a limit: SQLite does not pass on the system's
// error.
std::string size_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
    return fmt::format(", and raise the limit of {} bytes for a file (ulimit -f)", limit.rlim_cur);
}

Error to_error(const SqlError& error, const fs::path& file) {
    const auto make = [&](ErrorKind kind, std::string message, std::string advice) {
        return Error{kind, std::move(message), std::move(advice), file.string()};
    };
    switch (error.code()) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return make(ErrorKind::database,
                        std::string("the database is damaged (") + error.what() + ")",
                        how_to_rebuild(file));
        case SQLITE_FULL:
            return make(ErrorKind::io, "the disk is full", kFreeSpace);
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return make(ErrorKind::busy, "the database is locked by another process",
                        "wait for it to end, or name another folder with --results");
        case SQLITE_CANTOPEN:
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_AUTH:
        case SQLITE_IOERR:
            if (error.code() == SQLITE_IOERR && has_no_room(file))
                return make(ErrorKind::io, "the disk is full", kFreeSpace);
            return make(ErrorKind::io,
                        std::string("cannot use the database (") + error.what() + ")",
                        "name a folder that can be written with --results" + size_limit());
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
        case SQLITE_TOOBIG:
            return make(ErrorKind::database, fmt::format("{} ({})", kRefused, error.what()), {});
        default: {
            const bool lacks = std::string_view(error.what()).starts_with("no such ");
            return make(
                ErrorKind::database,
                lacks ? fmt::format("the database is damaged ({})", error.what()) : error.what(),
                lacks ? how_to_rebuild(file) : "");
        }
    }
}

Database Database::connect(const fs::path& file, const std::string& name, int flags,
                           std::chrono::milliseconds busy) {
    auto state = std::make_shared<State>();
    state->file = file;
    sqlite3* connection = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &connection,
                                     flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    state->connection.reset(connection);
    if (code != SQLITE_OK) state->raise(code);
    sqlite3_busy_timeout(connection, static_cast<int>(busy.count()));
    sqlite3_create_function(connection, "subset_of_older_run", 1,
                            SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, sql_subset, nullptr,
                            nullptr);
    Database database(std::move(state));
    database.execute("PRAGMA foreign_keys = ON");
    return database;
}

// In a read-only folder SQLite cannot create the shared-memory file of a WAL database. Nobody can
// write there, so the database's file is opened as immutable.
Database Database::open_to_read(const fs::path& file, std::chrono::milliseconds busy) {
    Database database = connect(file, file.string(), SQLITE_OPEN_READONLY, busy);
    try {
        database.execute("SELECT 1 FROM sqlite_schema");
        return database;
    } catch (const SqlError& error) {
        if (error.code() != SQLITE_CANTOPEN && error.code() != SQLITE_READONLY) throw;
    }
    std::error_code error;
    const fs::path wal = file.string() + "-wal";
    if (const auto size = fs::file_size(wal, error); !error && size > 0)
        throw SqlError(SQLITE_CANTOPEN,
                       "its last changes are in " + wal.filename().string() +
                           ", which can be read only where its folder can be written: copy both");
    std::string name = "file:";
    for (const char c : fs::absolute(file).string())
        name += std::string_view("%?#").find(c) == std::string_view::npos
                    ? std::string(1, c)
                    : fmt::format("%{:02x}", static_cast<unsigned>(c));
    return connect(file, name + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, busy);
}

Database Database::open(const fs::path& file, Mode mode, std::chrono::milliseconds busy) {
    if (mode == Mode::read_only) return open_to_read(file, busy);
    Database database =
        connect(file, file.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, busy);
    // SQLite does not wait for the lock that this one change needs, so we do.
    const auto deadline = std::chrono::steady_clock::now() + busy;
    while (true) {
        try {
            database.execute("PRAGMA journal_mode = WAL");
            break;
        } catch (const SqlError& error) {
            if (error.code() != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
    }
    database.execute("PRAGMA synchronous = NORMAL");
    return database;
}

// Without a name SQLite spills what its cache does not hold into a file of its own.
Database Database::temporary() {
    return connect("the temporary database", "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, {});
}

void Database::execute(const std::string& sql) {
    if (state_->step_hook)
        if (const int code = state_->step_hook(); code != SQLITE_OK)
            throw SqlError(code, sqlite3_errstr(code));
    const int code = sqlite3_exec(state_->connection.get(), sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) state_->raise(code);
}

Statement Database::prepare(std::string_view sql) {
    if (state_->prepare_hook) state_->prepare_hook(sql);
    if (const auto idle = state_->idle.find(std::string(sql)); idle != state_->idle.end())
        return {state_, state_->idle.extract(idle).mapped().release()};
    sqlite3_stmt* statement = nullptr;
    const int code =
        sqlite3_prepare_v3(state_->connection.get(), sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) state_->raise(code);
    return {state_, statement};
}

void Database::set_patience(std::chrono::milliseconds busy) {
    sqlite3_busy_timeout(state_->connection.get(), static_cast<int>(busy.count()));
}

std::int64_t Database::last_row_id() const {
    return sqlite3_last_insert_rowid(state_->connection.get());
}

bool Database::in_transaction() const {
    return sqlite3_get_autocommit(state_->connection.get()) == 0;
}

void Database::set_step_hook(std::function<int()> hook) { state_->step_hook = std::move(hook); }

void Database::set_prepare_hook(std::function<void(std::string_view)> hook) {
    state_->prepare_hook = std::move(hook);
}

const fs::path& Database::file() const { return state_->file; }

void Statement::Keep::operator()(sqlite3_stmt* statement) const {
    Database::State::IdleStatement idle(statement);
    if (state->idle.size() >= kIdleStatements) return;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    state->idle.emplace(sqlite3_sql(statement), std::move(idle));
}

void Statement::check(int code) const {
    if (code != SQLITE_OK) statement_.get_deleter().state->raise(code);
}

Statement& Statement::bind(int index, std::int64_t value) {
    check(sqlite3_bind_int64(statement_.get(), index, value));
    return *this;
}

Statement& Statement::bind(int index, double value) {
    check(sqlite3_bind_double(statement_.get(), index, value));
    return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
    // An empty view may hold a null pointer, which SQLite would take for NULL.
    check(sqlite3_bind_text64(statement_.get(), index, text.empty() ? "" : text.data(), text.size(),
                              SQLITE_TRANSIENT, SQLITE_UTF8));
    return *this;
}

Statement& Statement::bind(int index, std::nullopt_t) {
    check(sqlite3_bind_null(statement_.get(), index));
    return *this;
}

bool Statement::step() {
    const Database::State& state = *statement_.get_deleter().state;
    if (state.step_hook)
        if (const int code = state.step_hook(); code != SQLITE_OK)
            throw SqlError(code, sqlite3_errstr(code));
    switch (const int code = sqlite3_step(statement_.get()); code & kPrimaryCode) {
        case SQLITE_ROW:
            return true;
        case SQLITE_DONE:
            return false;
        default: {
            const SqlError error(code & kPrimaryCode, sqlite3_errmsg(state.connection.get()));
            reset();
            throw error;
        }
    }
}

void Statement::run() {
    while (step()) {
    }
    reset();
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

int Statement::find_column(std::string_view name) const {
    const int count = sqlite3_column_count(statement_.get());
    for (int i = 0; i < count; ++i)
        if (name == sqlite3_column_name(statement_.get(), i)) return i;
    return -1;
}

int Statement::column(std::string_view name) const {
    const int found = find_column(name);
    if (found < 0)
        throw SqlError(SQLITE_ERROR,
                       fmt::format("no column '{}' in: {}", name, sqlite3_sql(statement_.get())));
    return found;
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
    const unsigned char* bytes = sqlite3_column_text(statement_.get(), column);
    if (bytes == nullptr) return {};
    return {reinterpret_cast<const char*>(bytes),
            static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool Statement::is_null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Transaction::Transaction(Database& database, Kind kind) : database_(database) {
    database_.execute(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
    if (!open_ || !database_.in_transaction()) return;
    // Ignored: an error is being handled already, and SQLite rolls back at close.
    try {
        database_.execute("ROLLBACK");
    } catch (const SqlError&) {
    }
}

void Transaction::commit() {
    database_.execute("COMMIT");
    open_ = false;
}

}  // namespace compat::store
