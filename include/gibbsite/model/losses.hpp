#pragma once
// Every loss there is; another is a file beside logistic.hpp and a name here.
#include "gibbsite/model/losses/logistic.hpp"

namespace gibbsite {

template <class... L>
struct LossList {};
using Losses = LossList<losses::logistic>;

}  // namespace gibbsite
