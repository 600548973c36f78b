#include "data/shared_people.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "data/input.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/data/dataset.hpp"
#include "gibbsite/data/shares.hpp"
#include "gibbsite/machine/memory.hpp"

namespace gibbsite {
namespace {

/// Numbers that a message between ranks has at most, of all ranks: MPI counts bytes in 31 bits.
std::size_t most_sent = std::size_t{1} << 22;

/// Numbers from every rank to every other: counts(q, p) of q for p, the same on all ranks.
class Counts {
 public:
  Counts(Communicator& ranks, std::span<const std::uint64_t> mine)
      : ranks_(ranks.size()), of_(ranks.gather(mine)) {
    const auto own = static_cast<std::ptrdiff_t>(ranks.rank() * ranks_);
    fits_ =
        of_.size() == ranks_ * ranks_ && std::equal(mine.begin(), mine.end(), of_.begin() + own);
  }
  /// Whether each rank said a count for each, this one its own, and rank q all[q] together.
  [[nodiscard]] bool fit(std::span<const std::uint64_t> all) const {
    if (!fits_ || all.size() != ranks_) return false;
    for (std::size_t q = 0; q < ranks_; ++q) {
      std::uint64_t left = all[q];
      for (std::size_t p = 0; p < ranks_; ++p) {
        if ((*this)(q, p) > left) return false;
        left -= (*this)(q, p);
      }
      if (left > 0) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint64_t operator()(std::size_t q, std::size_t p) const {
    return of_[q * ranks_ + p];
  }
  [[nodiscard]] std::size_t ranks() const { return ranks_; }
  [[nodiscard]] std::uint64_t largest() const { return std::ranges::max(of_); }
  /// The counts of answers.
  [[nodiscard]] Counts turned() const {
    Counts out = *this;
    for (std::size_t q = 0; q < ranks_; ++q)
      for (std::size_t p = 0; p < ranks_; ++p) out.of_[q * ranks_ + p] = (*this)(p, q);
    return out;
  }

 private:
  std::size_t ranks_;
  std::vector<std::uint64_t> of_;
  bool fits_ = false;
};

[[noreturn]] void refuse_message() {
  throw BadInput(
      "people: a message between ranks does not fit what was asked; run the same gibbsite on all "
      "ranks, and report this if they do");
}

/// Sends the i-th of counts(me, p) numbers give(p, i) to each rank p, and hands those that came to
/// take(q, i, number), for each rank q in their order. Throws BadInput on all ranks if `take` says
/// on one that a number is not what was asked for.
template <class T, class Give, class Take>
void exchange(Communicator& ranks, const Counts& counts, const Give& give, const Take& take) {
  const std::size_t me = ranks.rank(), size = ranks.size();
  const std::uint64_t at_once = std::max<std::uint64_t>(most_sent / size, 1);
  bool fits = true;
  std::vector<T> mine, received;
  std::vector<std::size_t> to(size), from(size);
  for (std::uint64_t at = 0; at < counts.largest(); at += at_once) {
    const auto part = [&](std::uint64_t count) {
      return std::pair(std::min(at, count), std::min(at + at_once, count));
    };
    mine.clear();
    std::size_t incoming = 0;
    for (std::size_t p = 0; p < size; ++p) {
      const auto [first, last] = part(counts(me, p));
      for (std::uint64_t i = first; i < last; ++i) mine.push_back(give(p, i));
      to[p] = (last - first) * sizeof(T);
      const auto [begin, end] = part(counts(p, me));
      from[p] = (end - begin) * sizeof(T);
      incoming += end - begin;
    }
    received.resize(incoming);
    ranks.exchange(std::as_bytes(std::span(mine)), to, std::as_writable_bytes(std::span(received)),
                   from);
    std::size_t next = 0;
    for (std::size_t q = 0; q < size; ++q) {
      const auto [first, last] = part(counts(q, me));
      for (std::uint64_t i = first; i < last; ++i, ++next)
        fits = take(q, i, received[next]) && fits;
    }
  }
  ranks.together([&] {
    if (!fits) refuse_message();
  });
}

/// The hashes of people that this rank keeps of all: which of them are one person's, and their
/// places.
class KeptHashes {
 public:
  KeptHashes(Communicator& ranks, const Counts& counts) : ranks_(ranks), of_(counts.ranks()) {
    for (std::size_t q = 0; q < of_.size(); ++q) of_[q].resize(counts(q, ranks.rank()));
  }
  static std::size_t rank_of(std::uint64_t second_half, std::size_t ranks) {
    return second_half % ranks;
  }
  /// Takes the i-th hash of rank q; false if it belongs to another rank.
  bool take(std::size_t q, std::uint64_t i, const PersonIds::Hash& hash) {
    if (rank_of(hash[1], ranks_.size()) != ranks_.rank()) return false;
    const std::uint32_t index = distinct_.place(hash);
    if (index == first_rank_.size()) first_rank_.push_back(static_cast<std::uint32_t>(q));
    first_rank_[index] = std::min(first_rank_[index], static_cast<std::uint32_t>(q));
    of_[q][i] = index;
    return true;
  }
  /// For each hash that rank q sent whether q is the first rank that has this person.
  void find_first_ranks() {
    std::vector<char> found(first_rank_.size());
    is_first_.resize(of_.size());
    for (std::size_t q = 0; q < of_.size(); ++q) {
      for (const std::uint32_t index : of_[q]) {
        const bool first = first_rank_[index] == q && std::exchange(found[index], 1) == 0;
        is_first_[q].push_back(first ? 1 : 0);
      }
    }
    place_.assign(first_rank_.size(), 0);
  }
  [[nodiscard]] unsigned char is_first(std::size_t q, std::uint64_t i) const {
    return is_first_[q][i];
  }
  /// Hashes of rank q of which it is the first, or is not, in their order.
  [[nodiscard]] std::vector<std::uint32_t> indices(std::size_t q, bool first) const {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < of_[q].size(); ++i)
      if ((is_first_[q][i] != 0) == first) out.push_back(of_[q][i]);
    return out;
  }
  std::uint32_t& place(std::uint32_t index) { return place_[index]; }

 private:
  Communicator& ranks_;
  PersonIds distinct_;
  std::vector<std::uint32_t> first_rank_, place_;  // of a distinct hash
  std::vector<std::vector<std::uint32_t>> of_;     // [ranks] the distinct hash of each that came
  std::vector<std::vector<unsigned char>> is_first_;
};

/// This rank's people by the rank that keeps their hashes: those of p are at[begin[p], begin[p+1]).
struct Partition {
  std::vector<std::uint64_t> begin;
  std::vector<std::uint32_t> at;

  Partition(const PersonIds& ids, std::size_t ranks) : begin(ranks + 1), at(ids.size()) {
    const auto rank_of = [&](std::uint32_t place) {
      return KeptHashes::rank_of(ids.second_half(place), ranks);
    };
    for (std::uint32_t place = 0; place < at.size(); ++place) ++begin[rank_of(place) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::uint64_t> next(begin.begin(), begin.end() - 1);
    for (std::uint32_t place = 0; place < at.size(); ++place) at[next[rank_of(place)]++] = place;
  }
  [[nodiscard]] std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> out;
    for (std::size_t p = 0; p + 1 < begin.size(); ++p) out.push_back(begin[p + 1] - begin[p]);
    return out;
  }
};

/// Places among all people of those of this rank, where it is sent each once.
class Numbering {
 public:
  Numbering(const PersonIds& ids, Communicator& ranks)
      : ranks_(ranks), mine_(ids, ranks.size()), of_mine_(ids.size()), is_first_(ids.size()) {}

  std::vector<std::uint32_t> places(const PersonIds& ids, std::uint64_t rows) {
    const std::vector<std::uint64_t> people = ranks_.gather(ids.size());
    const Counts sent(ranks_, mine_.counts());
    ranks_.together([&] {
      const std::uint64_t all = std::accumulate(people.begin(), people.end(), std::uint64_t{0});
      const bool each_fits = std::ranges::all_of(people, [&](auto count) { return count <= rows; });
      if (!each_fits || all > rows || !sent.fit(people)) refuse_message();
    });
    KeptHashes kept(ranks_, sent);
    exchange<PersonIds::Hash>(
        ranks_, sent, [&](std::size_t p, std::uint64_t i) { return ids.hash(at(p, i)); },
        [&](std::size_t q, std::uint64_t i, const PersonIds::Hash& h) {
          return kept.take(q, i, h);
        });
    kept.find_first_ranks();
    exchange<unsigned char>(
        ranks_, sent.turned(), [&](std::size_t q, std::uint64_t i) { return kept.is_first(q, i); },
        [&](std::size_t p, std::uint64_t i, unsigned char first) {
          is_first_[at(p, i)] = first;
          return first <= 1;
        });
    number_first(rows);
    send_first(kept);
    ask_for_others(kept, people);
    return std::move(of_mine_);
  }

 private:
  [[nodiscard]] std::uint32_t at(std::size_t p, std::uint64_t i) const {
    return mine_.at[mine_.begin[p] + i];
  }
  /// This rank's people that rank p keeps and that have, or do not have, their first row here.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> kept_by(bool first) const {
    std::vector<std::vector<std::uint32_t>> out(ranks_.size());
    for (std::size_t p = 0; p < out.size(); ++p)
      for (std::uint64_t i = 0; i < mine_.begin[p + 1] - mine_.begin[p]; ++i)
        if ((is_first_[at(p, i)] != 0) == first) out[p].push_back(at(p, i));
    return out;
  }
  /// Places of the people whose first rows are here, behind those of the ranks before.
  void number_first(std::uint64_t rows) {
    const auto here = static_cast<std::uint64_t>(std::ranges::count(is_first_, 1));
    first_ = ranks_.gather(here);
    bounds_.push_back(0);
    ranks_.together([&] {
      for (const std::uint64_t count : first_) {
        if (count > rows - bounds_.back()) refuse_message();
        bounds_.push_back(bounds_.back() + count);
      }
      if (bounds_.back() > PersonIds::most)
        throw BadInput("people: there are more than 2^32 - 2 ids; give a table of fewer");
    });
    std::uint64_t next = bounds_[ranks_.rank()];
    for (std::size_t place = 0; place < of_mine_.size(); ++place)
      if (is_first_[place] != 0) of_mine_[place] = static_cast<std::uint32_t>(next++);
  }
  static std::vector<std::uint64_t> sizes_of(const std::vector<std::vector<std::uint32_t>>& of) {
    std::vector<std::uint64_t> out;
    for (const auto& one : of) out.push_back(one.size());
    return out;
  }
  /// Hashes that this rank keeps of each rank's people, by whether it is the first that has them:
  /// counts say that they are as many as that rank has.
  std::vector<std::vector<std::uint32_t>> indices_of(const KeptHashes& kept, bool first,
                                                     const Counts& counts,
                                                     std::span<const std::uint64_t> all) {
    std::vector<std::vector<std::uint32_t>> out;
    for (std::size_t q = 0; q < ranks_.size(); ++q) out.push_back(kept.indices(q, first));
    ranks_.together([&] {
      bool fits = counts.fit(all);
      for (std::size_t q = 0; q < out.size(); ++q)
        fits = fits && counts(q, ranks_.rank()) == out[q].size();
      if (!fits) refuse_message();
    });
    return out;
  }
  void send_first(KeptHashes& kept) {
    const auto first = kept_by(true);
    const Counts counts(ranks_, sizes_of(first));
    const auto indices = indices_of(kept, true, counts, first_);
    std::vector<std::uint64_t> next(bounds_.begin(), bounds_.end() - 1);
    exchange<std::uint32_t>(
        ranks_, counts, [&](std::size_t p, std::uint64_t i) { return of_mine_[first[p][i]]; },
        [&](std::size_t q, std::uint64_t i, std::uint32_t place) {
          if (place < next[q] || place >= bounds_[q + 1]) return false;  // they ascend
          next[q] = std::uint64_t{place} + 1;
          kept.place(indices[q][i]) = place;
          return true;
        });
  }
  void ask_for_others(KeptHashes& kept, std::vector<std::uint64_t> people) {
    for (std::size_t q = 0; q < people.size(); ++q) people[q] -= std::min(people[q], first_[q]);
    const auto others = kept_by(false);
    const Counts counts(ranks_, sizes_of(others));
    const auto indices = indices_of(kept, false, counts, people);
    exchange<std::uint32_t>(
        ranks_, counts.turned(),
        [&](std::size_t q, std::uint64_t i) { return kept.place(indices[q][i]); },
        [&](std::size_t p, std::uint64_t i, std::uint32_t place) {
          of_mine_[others[p][i]] = place;
          return place < bounds_[ranks_.rank()];  // of a rank before
        });
  }

  Communicator& ranks_;
  Partition mine_;
  std::vector<std::uint32_t> of_mine_;   // [people of this rank] the place among all
  std::vector<unsigned char> is_first_;  // [people of this rank] whether no rank before has rows
  std::vector<std::uint64_t> first_;     // [ranks] people whose first row is there
  std::vector<std::uint64_t> bounds_;    // [ranks + 1] of places that ranks give
};

/// So many rows before they are needed, numbers of people are asked of memory.
constexpr std::size_t rows_ahead = 32;

/// each(i, number of the person of row i), of nobody null. People come in any order.
template <class Number, class Each>
void each_row(std::span<const std::uint32_t> person, std::vector<Number>& numbers,
              const Each& each) {
  for (std::size_t i = 0; i < person.size(); ++i) {
    if (i + rows_ahead < person.size()) {
      const std::uint32_t ahead = person[i + rows_ahead];
      if (ahead != Dataset::nobody) __builtin_prefetch(numbers.data() + ahead, 1);
    }
    each(i, person[i] == Dataset::nobody ? nullptr : &numbers[person[i]]);
  }
}

/// Rows of people, the person's place by place; of nobody's none.
template <class Count>
std::vector<Count> rows_of_places(std::span<const std::uint32_t> person) {
  static_assert(Dataset::nobody + 1 == 0);
  std::uint32_t places = 0;
  for (const std::uint32_t place : person) places = std::max(places, place + 1);
  std::vector<Count> counts;
  // Address space for huge pages, which a few MiB are not given alone.
  constexpr std::size_t many = (std::size_t{8} << 20) / sizeof(Count);
  counts.reserve(places < many ? places : std::max<std::size_t>(places, 8 * many));
  prefer_huge_pages(counts.data(), counts.capacity() * sizeof(Count));
  counts.resize(places);
  each_row(person, counts, [](std::size_t, Count* count) {
    if (count != nullptr) ++*count;
  });
  return counts;
}

struct RowsOf {
  std::uint64_t place = 0, rows = 0;
};

/// Replaces this rank's counts of rows [places] by those of all ranks, where it has rows at all.
/// Returns how many people have rows.
std::uint64_t add_counts_of_ranks(std::vector<std::uint64_t>& counts, std::uint64_t rows,
                                  Communicator& ranks) {
  const std::size_t me = ranks.rank(), size = ranks.size();
  std::vector<RowsOf> mine;
  for (std::size_t place = 0; place < counts.size(); ++place)
    if (counts[place] > 0) mine.push_back({place, counts[place]});
  const std::vector<std::uint64_t> ends = ranks.gather(std::uint64_t{counts.size()}),
                                   people = ranks.gather(std::uint64_t{mine.size()});
  const std::uint64_t places = std::ranges::max(ends);
  ranks.together([&] {
    if (places > rows || std::ranges::any_of(people, [&](auto n) { return n > places; }))
      refuse_message();
  });
  std::vector<std::uint64_t> bounds, begin, own(size);  // of a rank's places; of mine for it
  for (std::size_t p = 0; p <= size; ++p) {
    bounds.push_back(places / size * p + places % size * p / size);
    begin.push_back(static_cast<std::uint64_t>(
        std::ranges::lower_bound(mine, bounds[p], {}, &RowsOf::place) - mine.begin()));
    if (p > 0) own[p - 1] = begin[p] - begin[p - 1];
  }
  const Counts sent(ranks, own);
  ranks.together([&] {
    if (!sent.fit(people)) refuse_message();
  });
  std::vector<std::uint64_t> sums(bounds[me + 1] - bounds[me]);
  std::vector<std::vector<std::uint64_t>> asked(size);
  std::uint64_t left = rows;
  exchange<RowsOf>(
      ranks, sent, [&](std::size_t p, std::uint64_t i) { return mine[begin[p] + i]; },
      [&](std::size_t q, std::uint64_t /*i*/, const RowsOf& of) {
        const bool fits = of.place >= bounds[me] && of.place < bounds[me + 1] && of.rows >= 1 &&
                          of.rows <= left && (asked[q].empty() || asked[q].back() < of.place);
        if (!fits) return false;
        left -= of.rows;
        sums[of.place - bounds[me]] += of.rows;
        asked[q].push_back(of.place);
        return true;
      });
  exchange<std::uint64_t>(
      ranks, sent.turned(),
      [&](std::size_t q, std::uint64_t i) { return sums[asked[q][i] - bounds[me]]; },
      [&](std::size_t p, std::uint64_t i, std::uint64_t sum) {
        const RowsOf& of = mine[begin[p] + i];
        counts[of.place] = sum;
        return sum >= of.rows && sum <= rows;
      });
  const std::vector<std::uint64_t> found = ranks.gather(static_cast<std::uint64_t>(
      std::ranges::count_if(sums, [](std::uint64_t n) { return n > 0; })));
  return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
}

void require_unheld(const Dataset& share, std::uint64_t k) {
  if (share.schema.person() == nullptr)
    throw BadInput("data: no column of the schema says whose a row is; name one");
  if (share.person.size() != share.rows() || share.rows_of_person > 0)
    throw BadInput("data: its people are held already, or were not read; read it once more");
  if (k < 1 || k > std::uint64_t{1} << 53)
    throw BadInput(Field{"rows_per_person"}, fmt::format("must be from 1 to 2^53, got {}", k),
                   "give the most rows that one person may count");
}

/// Weighs the rows of people, who have `counts` rows each [places].
template <class Count>
void weigh_rows(Dataset& share, std::uint64_t k, std::vector<Count> counts) {
  // Each person's share once, in place of the count.
  static_assert(sizeof(Count) >= sizeof(float));
  for (Count& count : counts) count = std::bit_cast<std::uint32_t>(share_of_rows_down(k, count));
  const bool weighs = !share.weight.empty();
  share.weight.reserve(share.person.size());
  prefer_huge_pages(share.weight.data(), share.weight.capacity() * sizeof(float));
  share.weight.resize(share.person.size(), 1.0F);
  each_row(share.person, counts, [&](std::size_t i, const Count* count) {
    const float part =
        count == nullptr ? 0 : std::bit_cast<float>(static_cast<std::uint32_t>(*count));
    share.weight[i] = weighs ? product_down(part, share.weight[i]) : part;
  });
}

void require_somebody(std::uint64_t people) {
  if (people == 0)
    throw BadInput("data: nobody has a row; fill the column of people" + std::string(tells_of_row));
}

/// Weighs rows whose people have no rows elsewhere. Returns how many people.
template <class Count>
std::uint64_t hold_alone(Dataset& share, std::uint64_t k) {
  std::vector<Count> counts = rows_of_places<Count>(share.person);
  const auto people = static_cast<std::uint64_t>(counts.size()) -
                      static_cast<std::uint64_t>(std::ranges::count(counts, Count{0}));
  require_somebody(people);
  weigh_rows(share, k, std::move(counts));
  return people;
}

/// Likewise rows of people that may have others elsewhere, `rows` in all. Collective.
std::uint64_t hold_together(Dataset& share, std::uint64_t k, std::uint64_t rows,
                            Communicator& ranks) {
  std::vector<std::uint64_t> counts = rows_of_places<std::uint64_t>(share.person);
  const std::uint64_t people = add_counts_of_ranks(counts, rows, ranks);
  require_somebody(people);
  weigh_rows(share, k, std::move(counts));
  return people;
}

}  // namespace

std::size_t set_most_sent(std::size_t numbers) { return std::exchange(most_sent, numbers); }

void make_shared_ids(std::optional<PersonIds>& ids, Communicator& ranks) {
  PersonIds::Key key = PersonIds::key_from_os();
  ranks.broadcast(std::as_writable_bytes(std::span(key)), 0);
  ids.emplace(key);
  sodium_memzero(key.data(), key.size());
}

void number_people(std::span<std::uint32_t> person, const PersonIds& ids, std::uint64_t rows,
                   Communicator& ranks) {
  if (ranks.size() == 1) return;
  const std::vector<std::uint32_t> places = Numbering(ids, ranks).places(ids, rows);
  for (std::uint32_t& place : person)
    if (place != Dataset::nobody) place = places[place];
}

void hold_people(Dataset& share, std::uint64_t k, Communicator& ranks) {
  ranks.together([&] { require_unheld(share, k); });
  const std::vector<std::uint64_t> shares = ranks.gather(std::uint64_t{share.rows()});
  const std::uint64_t rows = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
  if (rows > most_rows_of_people)
    throw BadInput(
        "data: has more than 2^40 rows, whose sums are not bounded (private: how many "
        "there are is not public); give fewer");
  // A count of these rows fits in 32 bits; one of all ranks' may not.
  share.people = ranks.size() > 1                  ? hold_together(share, k, rows, ranks)
                 : rows < (std::uint64_t{1} << 32) ? hold_alone<std::uint32_t>(share, k)
                                                   : hold_alone<std::uint64_t>(share, k);
  share.rows_of_person = k;
  share.rows_counted = rows;
}

}  // namespace gibbsite
