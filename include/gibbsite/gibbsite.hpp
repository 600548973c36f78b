#pragma once
// Everything a program that uses gibbsite as a library needs.
#include "gibbsite/core/constants.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/random.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/schema.hpp"
#include "gibbsite/model/potential.hpp"
#include "gibbsite/privacy/calibrate.hpp"
#include "gibbsite/privacy/gdp.hpp"
#include "gibbsite/release/release.hpp"
#include "gibbsite/sampler/backend.hpp"
#include "gibbsite/sampler/sample.hpp"
#include "gibbsite/schedule/plan.hpp"
