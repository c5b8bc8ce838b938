#pragma once
// A Trace: what the ranks of an application do, without any time that the network took. JSON Lines: a header, then one
// event a line. docs/traces.md describes the format.
#include <cstdint>
#include <fstream>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"

namespace linkcast {

class TraceLine;

/// No application has more ranks: a larger number is a mistake in the file, found before memory is taken for them.
inline constexpr int kMostRanks = 1'000'000;

/// CPU times of two hosts of one kind differ by up to this factor. source: docs/launch.md, seven hosts with H200, calls
/// that the CPU limits; one step of a pipeline on two hosts with H200, 7.32 and 12.02 ms (apps-traces/measure)
inline constexpr double kHostSpread = 1.65;

struct TraceHeader {
  std::string name;
  int ranks = 1;
  std::string source;                              ///< where it comes from: a recording, or a paper's text
  std::vector<std::string> notes{};                ///< what was assumed
  std::map<std::string, std::vector<int>> groups;  ///< ranks of each communicator, in its order
  std::string device{};                            ///< GPU that the compute times are of
  double host_scale = 1;                           ///< every host_s is multiplied by it: recording slows the CPU down
  /// Median step without recording, to which host_scale was fitted.
  std::optional<double> step_time_s{};
  double launch_s = 0;             ///< from the launch on the CPU to the start on an idle stream
  double gap_s = 0;                ///< between two events that wait for each other on one stream
  double slowdown = 1;             ///< of compute beside a collective of its rank, where no event says
  double collective_slowdown = 1;  ///< of a collective while one of its ranks computes
  /// Whether NVSwitches multicast and reduced (NVLS) where it was recorded; nothing: not known, or not recorded.
  std::optional<bool> nvls{};
  std::string library{};  ///< that its collectives ran by where it was recorded; empty: not known, or not recorded
  double eager_B = 0;     ///< a send of at most this many bytes waits for no receive
};

enum class TraceKind : unsigned char { kCompute, kCopy, kCollective, kSend, kRecv, kSync, kStep };

/// True of what needs other ranks.
constexpr bool communicates(TraceKind kind) {
  return kind == TraceKind::kCollective || kind == TraceKind::kSend || kind == TraceKind::kRecv;
}

/// When something was on the GPU in the recording, on the rank's own clock; 0: its CPU began with the first event.
struct RecordedTime {
  double begin_s = 0, end_s = 0;
  [[nodiscard]] double duration_s() const { return end_s - begin_s; }
};

/// What one rank issues. Events of a rank are in the order of issue; those of one stream run in that order.
/// What a replay looks at often stands first.
struct TraceEvent {
  int rank = 0;
  TraceKind kind = TraceKind::kCompute;
  double host_s = 0;                  ///< CPU time of the rank before it issues this, since it issued the event before
  double recording_s = 0;             ///< what recording added to host_s, which is without it
  double time_s = 0;                  ///< compute
  std::optional<std::int64_t> id{};   ///< grows within a rank
  std::vector<std::int64_t> after{};  ///< earlier ids of the same rank that must have finished; sync: waits for these
  std::optional<double> slowdown{};   ///< compute: beside a collective it takes this many times as long
  double size_B = 0;                  ///< collective (the nccl-tests size), copy, send, recv
  int peer = -1;                      ///< send, recv; copy d2d: whose GPU gets it, -1: the rank's own
  /// Of what runs on a stream, and of a step. It enters no forecast: results show it beside the forecast.
  std::optional<RecordedTime> recorded{};
  /// Of a sync: waits until this stream is empty. Of a step: passed in the order of this stream. Empty for these two:
  /// waits for all streams, and passed by the CPU.
  std::string stream = "0";
  std::string op{};     ///< collective: as `linkcast list collectives`; copy: h2d, d2h, d2d
  std::string group{};  ///< collective
  std::string tag{};    ///< send, recv: matched with the same tag in order
  std::string name{};   ///< for people
  /// What it belongs to, for people; "exchange": it is there only because ranks exchange something, e.g. copies into
  /// the buffer of a collective.
  std::string part{};

  /// As a new one; the memory of its texts and lists is kept.
  void clear();
};

/// "compute", "copy", ... @throws InputError
std::string to_text(TraceKind kind);

/// Reads a trace event by event, so that one larger than memory can be replayed.
class TraceReader {
 public:
  /// @throws InputError  missing file, or wrong header
  explicit TraceReader(const std::string& path);
  /// @param name  stands for the file in errors
  TraceReader(std::unique_ptr<std::istream> stream, std::string name);
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;
  ~TraceReader();

  [[nodiscard]] const TraceHeader& header() const { return header_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] long line() const { return line_; }
  /// nullopt after the last. @throws InputError  file, line and pointer of what is wrong
  std::optional<TraceEvent> next();
  /// @param event  whatever it was. @returns  false after the last
  bool next(TraceEvent& event);

 private:
  std::optional<std::string_view> any_line();
  bool next_line();
  TraceEvent read_strictly();

  std::unique_ptr<std::istream> stream_;
  LineBlocks lines_;
  std::string name_;
  long line_ = 0;
  std::string_view text_{};  ///< the line
  TraceHeader header_;
  std::unique_ptr<TraceLine> quick_;
  std::vector<std::int64_t> last_id_;  ///< per rank
};

Json to_json(const TraceHeader& header);
Json to_json(const TraceEvent& event);
/// One line of a trace, with its newline.
std::string trace_line(const Json& json);

}  // namespace linkcast
