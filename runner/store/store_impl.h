// The connection of a Store. A header for the store's tests, which inject faults.
#pragma once

#include "runner/store/database.h"
#include "runner/store/store.h"

namespace compat::store {

struct Store::Impl {
    Database database;
};

}  // namespace compat::store
