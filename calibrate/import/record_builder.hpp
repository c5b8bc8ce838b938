#pragma once
// A record of schema measurement/1 in the making.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/import/importer.hpp"

namespace linkcast {
// Where the two processes of a benchmark of messages ran, which none of them prints: options src, dst.

struct MessageEnds {
  std::string source, target;
  bool between_nodes = false;
};

/// @param nodes  whether they ran on two nodes, where option between_nodes does not say it
/// @throws InputError  src or dst is missing, no device, or both are one device of one node
MessageEnds message_ends(const ImportRequest& request, bool nodes);
/// @param on_gpu  what the file prints of the buffer; nothing: it does not. @throws InputError  names option and file
void check_buffer(const std::string& option, const std::string& device, std::optional<bool> on_gpu,
                  const std::string& file);

// Printed device numbers as GPUs of the topology.

/// True if the text is a kind and a number, e.g. gpu3; not gpu03.
bool is_device(const std::string& text, const std::string& kind);

class DeviceNames {
 public:
  /// @throws InputError  if option gpus is no list of numbers
  explicit DeviceNames(const ImportRequest& request);

  /// Number of the GPU that the files call `printed`. @throws InputError  if option gpus does not name it
  [[nodiscard]] int number(int printed) const;
  [[nodiscard]] std::string id(int printed) const { return fmt::format("gpu{}", number(printed)); }
  /// For the record: how devices were named.
  [[nodiscard]] std::string note() const;

  static ImportOption option();

 private:
  std::vector<int> gpus_;  ///< empty: as printed
};

/// Devices of a host by the bus ids that its runs print: where other devices are visible, other GPUs have these
/// numbers.
class PrintedBuses {
 public:
  /// @throws InputError  a run that came before printed another bus for this number
  void add(const std::string& host, int device, const std::string& bus, const std::string& place);

 private:
  std::map<std::pair<std::string, int>, std::pair<std::string, std::string>> seen_;  ///< bus and place
};

/// Options like src and gpus speak of one run: whether a further run of a log is of the same processes, by the command
/// lines and the visible devices in front of it.
class SameProcesses {
 public:
  /// @param request  its option runs=same says that all are
  explicit SameProcesses(const ImportRequest& request);
  static ImportOption option();
  /// A line between tables. @param programs  beginning of their names, e.g. osu_
  void see(const std::string& line, const std::string& programs);
  /// A table begins. @param what  the options that speak of it. @param printed  addresses and devices that the program
  /// prints itself, which say more than a command. @throws InputError  it may be of other processes
  void begin_run(const std::string& path, int line, const std::string& what, const std::string& printed = "");

 private:
  bool said_ = false;
  std::string path_, command_, command_before_, printed_before_, devices_, devices_before_;
  bool any_ = false;
};

class RecordBuilder {
 public:
  /// @param kind  end of the record's id, lower-kebab
  /// @param timing  back_to_back or single
  /// @throws InputError  no machine, no topology
  RecordBuilder(const ImportRequest& request, const std::string& kind, const std::string& bench,
                const std::string& timing);

  /// Program and version; the names of the files are added.
  void source(const std::string& text) { source_ = text; }
  /// Facts that the files print. @throws InputError  if two files differ in one: they are not of one machine or program
  void environment(const std::string& key, const Json& value, const std::string& file);
  /// Library of the collectives, as `linkcast list libraries` names it.
  void library(const std::string& name) { library_ = name; }
  void method(const std::string& key, const Json& value) { method_[key] = value; }
  /// Each text is kept once.
  void note(const std::string& text);

  /// A repetition of a point. Points that differ in nothing but the value are one, with several repetitions.
  /// @param value_key  time_s or bandwidth_Bps
  void add(const Json& point, const std::string& value_key, double value);
  /// A point that the machine could not run.
  void add_waived(Json point, const std::string& reason);

  /// @throws InputError  if nothing was added: says what was left out
  [[nodiscard]] Json json() const;

  static ImportOption id_option();

 private:
  std::string id_, machine_, topology_, bench_, timing_, source_, first_file_, library_;
  Json environment_ = Json::object(), method_ = Json::object(), files_ = Json::array(), points_ = Json::array();
  std::vector<std::string> notes_, names_;
  std::map<std::string, std::size_t> place_;  ///< of a point, by its text without values
};

}  // namespace linkcast
