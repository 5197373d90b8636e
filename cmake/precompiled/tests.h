// What most tests include.
#pragma once

#include "cmake/precompiled/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
