#pragma once
// Every loss there is; another is a file beside logistic.hpp and a name here.
#include "gibbsite/model/losses/huber.hpp"
#include "gibbsite/model/losses/logistic.hpp"
#include "gibbsite/model/losses/logistic_capped.hpp"
#include "gibbsite/model/losses/poisson.hpp"
#include "gibbsite/model/losses/pseudo_huber.hpp"
#include "gibbsite/model/losses/smoothed_hinge.hpp"
#include "gibbsite/model/losses/squared.hpp"

namespace gibbsite {

template <class... L>
struct LossList {};
using Losses = LossList<losses::logistic, losses::logistic_capped, losses::smoothed_hinge,
                        losses::huber, losses::pseudo_huber, losses::poisson, losses::squared>;

}  // namespace gibbsite
