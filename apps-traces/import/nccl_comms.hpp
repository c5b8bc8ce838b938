#pragma once
// Communicators in the debug log of NCCL: which process and GPU is which rank of which.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps-traces/import/lines.hpp"

namespace linkcast {

/// A line that NCCL printed: "stamp host:pid:tid [gpu] NCCL INFO message".
struct NcclLine {
  std::string stamp;    ///< empty: none
  std::string process;  ///< host:pid
  int gpu = 0;
  std::vector<std::string> words;  ///< of the message
  /// The word behind `key`, or "".
  [[nodiscard]] std::string behind(const std::string& key) const;
  [[nodiscard]] bool says(const std::string& first, const std::string& second) const;
};

/// @returns  nothing for a line of something else
std::optional<NcclLine> nccl_line(const std::string& text);

/// Takes lines apart that several processes wrote into one, and the prefixes of launchers off.
class NcclSplitter {
 public:
  /// The messages of NCCL in a line, in their order. To be asked line by line from the beginning of a file.
  std::vector<NcclLine> lines(const std::string& text);

 private:
  std::set<std::string> hosts_;  ///< that lines began with so far: where another message begins behind one shows
};

struct NcclComm {
  std::string name;         ///< of the trace's group
  std::vector<int> owners;  ///< by rank of the communicator; -1: not seen
  std::vector<int> ranks;   ///< of the trace, by rank of the communicator
};

/// What the communicators of all files are. Take every line once by add() in the order of the files, then finish();
/// then every line again by at().
class NcclComms {
 public:
  void add(const NcclLine& line, const Lines& lines);
  /// @throws InputError  ranks of which there is no log
  void finish();

  [[nodiscard]] int ranks() const { return static_cast<int>(rank_of_owner_.size()); }
  [[nodiscard]] const std::vector<NcclComm>& all() const { return comms_; }
  /// The line may set a communicator up, or end it.
  void at(const NcclLine& line, const Lines& lines);
  struct Member {
    const NcclComm* comm = nullptr;
    int rank = 0;  ///< of the trace
  };
  /// @param pointer  as printed. @throws InputError  not set up in what was read
  [[nodiscard]] Member member(const NcclLine& line, const std::string& pointer, const Lines& lines) const;

 private:
  struct Place {
    std::size_t comm = 0;
    int rank = 0;  ///< of the communicator
  };
  using Pointer = std::pair<std::string, std::string>;  ///< process, as printed

  std::string identity(const NcclLine& line, int ranks, int rank);

  std::vector<NcclComm> comms_;
  std::map<std::string, std::size_t> by_identity_;
  std::map<std::string, int> owners_;  ///< process and GPU
  std::map<std::pair<int, int>, int> unnamed_;
  std::map<std::pair<std::string, std::pair<std::string, long>>, Place>
      by_line_;  ///< by process and comm, file and line
  std::map<Pointer, Place> live_;
  std::map<Pointer, std::string> identities_;
  std::vector<int> rank_of_owner_;
  long members_ = 0;  ///< of all communicators
};

}  // namespace linkcast
