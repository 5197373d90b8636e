#include "runner/hub/store/known.h"

#include <utility>

#include "runner/hub/store/lock.h"

namespace compat::hub {

namespace {

constexpr std::chrono::seconds kWriteAfter{2};

}  // namespace

Expected<void> Known::open() {
    on_disk_ = lock_identity(lock_);
    if (!on_disk_.empty()) recorded_ = TRY(read_lock(lock_));
    return {};
}

Repository* Known::find(Kind kind, std::string_view name, std::string_view revision) {
    Repository* found = recorded_.find(kind, name, revision);
    return found ? found : made_.find(kind, name, revision);
}

const Address* Known::find_address(const std::string& key) const {
    const Address* found = recorded_.find_address(key);
    return found ? found : made_.find_address(key);
}

std::vector<const Repository*> Known::entries_of(const Repository& repository) const {
    std::vector<const Repository*> entries;
    for (const Catalog* catalog : {&recorded_, &made_})
        for (const Repository* one : catalog->find_all(repository.kind, repository.name))
            if (one->name == repository.name) entries.push_back(one);
    return entries;
}

bool Known::is_recorded(Kind kind, std::string_view name) const {
    return recorded_.find_any(kind, name) != nullptr;
}

void Known::add_absent(const Need& need, const Got& got) {
    Catalog& catalog = records_ ? recorded_ : made_;
    const Repository* known = catalog.find(need.kind, need.name, need.revision);
    if (known && !known->is_absent()) return;  // a client with a token had it meanwhile
    Repository absent;
    absent.kind = need.kind;
    absent.name = need.name;
    absent.revisions = {need.revision};
    absent.status = got.status;
    absent.error = got.code;
    absent.why = got.why;
    catalog.merge(std::move(absent));
}

void Known::add(const Need& need, Got& got) {
    if (got.is_lasting && need.what == Need::What::repository)
        add_absent(need, got);
    else if (got.status != 200)
        return;
    Catalog& catalog = records_ ? recorded_ : made_;
    if (got.repository) catalog.merge(std::move(*got.repository));
    if (got.address) catalog.merge(std::move(*got.address));
    if (Repository* in = got.file ? catalog.find(need.kind, need.name, need.commit) : nullptr)
        in->files[got.file->path] = std::move(*got.file);
    if (!records_) return;
    if (!std::exchange(is_older_, true)) older_since_ = std::chrono::steady_clock::now();
    write_soon();
}

void Known::write_soon() {
    if (is_older_ && std::chrono::steady_clock::now() - older_since_ > kWriteAfter) write();
}

void Known::write_last() {
    if (is_older_) write();
}

// Another run may have written it: its entries stay.
void Known::write() {
    is_older_ = false;
    const Fd held = hold_lock(lock_);
    const std::string on_disk = lock_identity(lock_);
    if (!on_disk.empty() && on_disk != on_disk_) {
        auto theirs = read_lock(lock_);
        if (!theirs) return journal_.add_problem("hub.lock.json", to_line(theirs.error()));
        theirs->merge(std::move(recorded_));
        recorded_ = std::move(*theirs);
    }
    const auto written = write_lock(lock_, recorded_);
    if (!written) {
        journal_.add_problem("hub.lock.json", to_line(written.error()));
        is_older_ = true;  // the disk may have room again
        older_since_ = std::chrono::steady_clock::now();
    }
    on_disk_ = lock_identity(lock_);
}

}  // namespace compat::hub
