#pragma once
// The dumps of all ranks of a job, and which of their calls make whole collectives and messages.
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "apps-traces/import/flight_recorder_file.hpp"
#include "sim/base/index.hpp"

namespace linkcast::flight {

class Job {
 public:
  /// @throws InputError  also where a group has ranks of which no file is
  explicit Job(const std::vector<std::string>& files);

  [[nodiscard]] int ranks() const { return static_cast<int>(dumps_.size()); }
  [[nodiscard]] const Dump& dump(int rank) const { return dumps_[at(rank)]; }
  /// Ranks of each group of the trace, by its name there.
  [[nodiscard]] const std::map<std::string, std::vector<int>>& groups() const { return groups_; }
  /// Group of an entry, as the trace names it.
  [[nodiscard]] std::string group_of(int rank, const Entry& entry) const;
  /// Rank at the other end of a message.
  [[nodiscard]] int peer_of(int rank, const Entry& entry) const;
  /// Bytes as the trace counts them, of a collective those of all parts.
  [[nodiscard]] double size_B(int rank, const Entry& entry) const;
  /// The i-th entry of a rank: every rank of its group has it, and every one completed it.
  [[nodiscard]] bool whole(int rank, std::size_t i) const { return whole_[at(rank)][i] != 0; }
  /// Notes: assumed, found, left out.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// Group, sequence, and how many of that sequence came before on the same rank.
  using Key = std::tuple<std::string, std::int64_t, int>;
  struct Call {
    std::string op, first_place;
    double size_B = 0;
    int ranks = 0, completed = 0;
    bool other_op = false, other_size = false;
  };
  /// Group, sender, receiver.
  using Pair = std::tuple<std::string, int, int>;
  struct Ends {
    int sends = 0, receives = 0;
  };

  void order(const std::vector<std::string>& files);
  void read_groups();
  [[nodiscard]] std::vector<int> members(int rank, const Entry& entry) const;
  [[nodiscard]] std::vector<Key> keys_of(int rank) const;
  [[nodiscard]] Pair pair_of(int rank, const Entry& entry) const;
  void survey();
  void choose();
  void choose_of(int rank);
  void tell_unfinished();
  void tell_calls();

  bool alone_ = false;  ///< one rank of many
  std::vector<Dump> dumps_;
  std::map<std::string, std::vector<int>> groups_;
  std::map<Key, Call> calls_;
  std::map<Pair, Ends> messages_;
  std::vector<std::vector<char>> whole_;
  int halves_ = 0;  ///< completed messages of which the other end is not there
  std::vector<std::string> notes_;
};

}  // namespace linkcast::flight
