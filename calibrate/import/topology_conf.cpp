// Slurm's topology.conf, plug-in topology/tree -> node-groups/1.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

#include "calibrate/import/hostlist.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/records/node_groups.hpp"

namespace linkcast {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// One line of the file, or several that a backslash joins.
struct Entry {
  int line = 0;
  std::map<std::string, std::string> values{};  ///< by key in lower_case case
};

std::vector<Entry> entries_of(TextFile& file) {
  std::vector<Entry> entries;
  bool goes_on = false;
  for (; !file.at_end(); file.next()) {
    std::string text = file.line().substr(0, file.line().find('#'));
    text.erase(text.find_last_not_of(" \t\r") + 1);
    const bool joined = !text.empty() && text.back() == '\\';
    if (joined) text.pop_back();
    const std::vector<std::string> words = words_of(text);
    if (!goes_on && !words.empty()) entries.push_back({file.number(), {}});
    for (const std::string& word : words) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
        file.fail("'" + word + "' is not KEY=VALUE");
      if (!entries.back().values.emplace(lower_case(word.substr(0, equals)), word.substr(equals + 1)).second)
        file.fail(word.substr(0, equals) + " is there twice");
    }
    goes_on = joined && !entries.empty();
  }
  return entries;
}

class Reader {
 public:
  explicit Reader(TextFile& file) : file_(file) {}

  Json switches() {
    Json list = Json::array();
    for (const Entry& entry : entries_of(file_)) list.push_back(switch_of(entry));
    if (list.empty()) file_.fail_at(1, "no SwitchName in the whole file");
    refuse_what_is_no_tree();
    return list;
  }

 private:
  Json switch_of(const Entry& entry) {
    for (const auto& [key, value] : entry.values)
      if (key != "switchname" && key != "nodes" && key != "switches" && key != "linkspeed")
        file_.fail_at(entry.line, "'" + key + "' is not read: one of SwitchName, Nodes, Switches, LinkSpeed");
    const auto name = entry.values.find("switchname");
    if (name == entry.values.end()) file_.fail_at(entry.line, "has no SwitchName");
    if (!names_.emplace(name->second, entry.line).second)
      file_.fail_at(entry.line, "switch " + name->second + " is there twice, first in line " +
                                    std::to_string(names_[name->second]));
    if (entry.values.count("nodes") == entry.values.count("switches"))
      file_.fail_at(entry.line, name->second + " must have either Nodes or Switches");
    Json made{{"name", name->second}};
    if (entry.values.count("nodes") > 0) made["nodes"] = below(entry, "nodes", nodes_, "node ");
    if (entry.values.count("switches") > 0) {
      made["switches"] = below(entry, "switches", switches_, "switch ");
      for (const Json& one : made["switches"]) parents_[one.get<std::string>()] = name->second;
    }
    if (entry.values.count("linkspeed") > 0) made["link_speed"] = link_speed(entry);
    return made;
  }

  /// @param above  of each name so far the line that has it
  Json below(const Entry& entry, const char* key, std::map<std::string, int>& above, const char* noun) {
    std::vector<std::string> names;
    try {
      names = expand_hostlist(entry.values.at(key));
    } catch (const HostlistError& error) {
      file_.fail_at(entry.line, error.what());
    }
    for (const std::string& name : names)
      if (const auto [at, is_new] = above.emplace(name, entry.line); !is_new)
        file_.fail_at(entry.line,
                      noun + name + " has a switch above it already, in line " + std::to_string(at->second));
    return names;
  }

  Json link_speed(const Entry& entry) const {
    const std::string& text = entry.values.at("linkspeed");
    std::int64_t speed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
    if (error != std::errc() || end != text.data() + text.size() || speed < 1)
      file_.fail_at(entry.line, "LinkSpeed: '" + text + "' is no whole number of at least 1");
    return speed;
  }

  void refuse_what_is_no_tree() const {
    for (const auto& [name, line] : switches_) {
      if (names_.count(name) == 0) file_.fail_at(line, "there is no switch " + name);
      std::size_t steps = 0;
      for (auto at = parents_.find(name); at != parents_.end() && steps <= parents_.size(); ++steps) {
        if (at->second == name) file_.fail_at(line, "switch " + name + " is below itself");
        at = parents_.find(at->second);
      }
    }
  }

  TextFile& file_;
  std::map<std::string, int> names_, nodes_, switches_;  ///< with their lines
  std::map<std::string, std::string> parents_;           ///< of switches
};

class TopologyConf final : public Importer {
 public:
  [[nodiscard]] Json run(const ImportRequest& request) const override {
    if (request.machine.empty()) throw InputError("--machine: topology-conf needs a name for the cluster");
    if (request.files.size() != 1) throw InputError("file: topology-conf reads one file");
    TextFile file(request.files.front());
    Json record{{"schema", "node-groups/1"},
                {"name", request.machine},
                {"source", "Slurm's " + file_name(file.path())},
                {"switches", Reader(file).switches()}};
    static_cast<void>(read_node_groups(record, file.path()));  // what no single line can have wrong
    return record;
  }
};

const bool topology_conf_registered = importers().add(
    {"topology-conf", "Slurm's topology.conf of topology/tree -> node-groups/1", "Slurm, topology.conf(5)"},
    [] { return std::make_unique<TopologyConf>(); });

}  // namespace
}  // namespace linkcast
