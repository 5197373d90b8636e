// What a Store holds. Here for the store's own tests, which put faults into the connection.
#pragma once

#include "runner/store/database.h"
#include "runner/store/store.h"

namespace compat::store {

struct Store::Impl {
    Database database;
};

}  // namespace compat::store
