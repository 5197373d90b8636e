// RAII over SQLite: connection, prepared statements, transactions. Knows no table (schema.sql).
// Inside this folder a failing call throws SqlError; the store's public functions turn it into an
// Error (edge.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

struct sqlite3;
struct sqlite3_stmt;

namespace compat::store {

class SqlError : public std::runtime_error {
  public:
    SqlError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
    [[nodiscard]] int code() const {
        return code_;
    }  // primary result code: SQLITE_FULL, SQLITE_BUSY, …

  private:
    int code_;
};

// With advice for the user; `file` is the database.
[[nodiscard]] Error to_error(const SqlError& error, const fs::path& file);

// Beginning of the message if the database refuses a value.
inline constexpr const char* kRefused = "the database does not take this";

// Advice for a damaged database.
[[nodiscard]] std::string how_to_rebuild(const fs::path& file);

// FNV-1a, 64 bits: what `text.hash` holds.
[[nodiscard]] std::int64_t text_hash(std::string_view text);

class Statement;

class Database {
  public:
    enum class Mode { read_write, read_only };

    // `busy` is how long a statement waits for another process's lock.
    static Database open(const fs::path& file, Mode mode, std::chrono::milliseconds busy);
    static Database temporary();  // gone when it is closed
    void set_patience(std::chrono::milliseconds busy);

    // One or more statements without values.
    void execute(const std::string& sql);
    // One statement that returns no rows.
    template <class... Values>
    void run(std::string_view sql, const Values&... values);
    [[nodiscard]] Statement prepare(std::string_view sql);
    [[nodiscard]] std::int64_t last_row_id() const;
    [[nodiscard]] bool in_transaction() const;

    // For tests, to inject faults: called before each step of a statement; a result other than
    // SQLITE_OK becomes the result of the step.
    void set_step_hook(std::function<int()> hook);
    // For tests: called with each prepared statement.
    void set_prepare_hook(std::function<void(std::string_view sql)> hook);

    [[nodiscard]] const fs::path& file() const;

  private:
    friend class Statement;
    struct State;
    static Database connect(const fs::path& file, const std::string& name, int flags,
                            std::chrono::milliseconds busy);
    static Database open_to_read(const fs::path& file, std::chrono::milliseconds busy);
    explicit Database(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State>
        state_;  // shared with the statements, which must not outlive the connection
};

// A prepared statement. Values are bound in order from 1; a bound text is copied.
class Statement {
  public:
    Statement& bind(int index, std::int64_t value);
    Statement& bind(int index, int value) { return bind(index, std::int64_t{value}); }
    Statement& bind(int index, bool value) { return bind(index, std::int64_t{value}); }
    Statement& bind(int index, double value);
    Statement& bind(int index, std::string_view text);
    Statement& bind(int index, const char* text) { return bind(index, std::string_view(text)); }
    Statement& bind(int index, std::nullopt_t);
    template <class T>
    Statement& bind(int index, const std::optional<T>& value) {
        return value ? bind(index, *value) : bind(index, std::nullopt);
    }
    template <class... Values>
    Statement& bind_all(const Values&... values) {
        int index = 0;
        (bind(++index, values), ...);
        return *this;
    }

    // True: there is a row to read.
    bool step();
    // Runs to the end and resets.
    void run();
    template <class... Values>
    void run(const Values&... values) {
        bind_all(values...).run();
    }
    void reset();

    // The column with this name, or -1.
    [[nodiscard]] int find_column(std::string_view name) const;
    // Throws if there is none.
    [[nodiscard]] int column(std::string_view name) const;

    // Columns count from 0. Rows of several columns are read by name (query.h).
    [[nodiscard]] std::int64_t integer(int column = 0) const;
    [[nodiscard]] double real(int column = 0) const;
    [[nodiscard]] std::string text(int column = 0) const;
    [[nodiscard]] bool is_null(int column = 0) const;
    [[nodiscard]] bool flag(int column = 0) const { return integer(column) != 0; }

  private:
    friend class Database;
    // Keeps it for the next Statement with this text: making one costs more than inserting a row.
    struct Keep {
        std::shared_ptr<Database::State> state;
        void operator()(sqlite3_stmt* statement) const;
    };
    Statement(std::shared_ptr<Database::State> state, sqlite3_stmt* statement)
        : statement_(statement, Keep{std::move(state)}) {}
    void check(int code) const;

    std::unique_ptr<sqlite3_stmt, Keep> statement_;
};

template <class... Values>
void Database::run(std::string_view sql, const Values&... values) {
    prepare(sql).run(values...);
}

// Rolled back unless committed. A write takes the lock at once, so that no later statement can fail
// for lack of it.
class Transaction {
  public:
    enum class Kind { write, read };
    explicit Transaction(Database& database, Kind kind = Kind::write);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

  private:
    Database& database_;
    bool open_ = true;
};

}  // namespace compat::store
