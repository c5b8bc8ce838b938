// Slurm's topology.conf of topology/tree and topology/block, what scontrol show topology prints, and topology.yaml of
// 25.05 -> node-groups/1. A block is a switch with its nodes; sizes of blocks have no place there.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/hostlist.hpp"
#include "sim/base/regex.hpp"
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
    const bool prompt =
        !goes_on && !words.empty() && words.front().find_first_of("$#>%@") != std::string::npos;  // "[user@login ~]$"
    if (prompt) continue;
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

/// "switch: s1" of "  - switch: 's1'  # leaf".
std::optional<std::pair<std::string, std::string>> yaml_pair(const std::string& line) {
  static const Regex pair(R"x(\s*(?:- +)?([A-Za-z_]+):\s*(?:'([^']*)'|"([^"]*)"|([^#'"]*?))\s*(?:#.*)?)x");
  const Match match = pair.whole(line);
  if (!match) return std::nullopt;
  return std::pair{match[1], match.has(2) ? match[2] : match.has(3) ? match[3] : match[4]};
}

bool is_yaml(const TextFile& file) {
  static const Regex first(R"((?s)\s*(?:---\s*|#[^\n]*\n\s*)*- +topology:.*)");
  return bool{first.whole(file.text())};
}

/// The entries of one topology of topology.yaml. @param said  which; empty: the default of the cluster, or the only one
std::vector<Entry> yaml_entries_of(TextFile& file, const std::string& said) {
  struct Section {
    std::string name;
    bool is_default = false;
    std::vector<Entry> entries{};
  };
  struct Key {
    const char* name;    // in topology.conf
    bool opens = false;  // an entry
  };
  static const std::map<std::string, Key> kKeys = {{"switch", {"switchname", true}},
                                                   {"block", {"blockname", true}},
                                                   {"nodes", {"nodes"}},
                                                   {"children", {"switches"}},
                                                   {"link_speed", {"linkspeed"}}};
  std::vector<Section> sections;
  for (; !file.at_end(); file.next()) {
    const auto pair = yaml_pair(file.line());
    const std::string word = words_of(file.line()).empty() ? "#" : words_of(file.line()).front();
    const bool size = word == "-" && !pair;  // of block_sizes
    if (word[0] == '#' || word == "---" || size) continue;
    if (!pair) file.fail("not understood: topology.yaml is read as KEY: VALUE, a line each");
    const auto& [key, value] = *pair;
    if (key == "topology") sections.push_back({value});
    if (sections.empty()) file.fail("'" + key + "' before the first topology");
    if (key == "cluster_default") sections.back().is_default = lower_case(value) == "true";
    const auto known = kKeys.find(key);
    if (known == kKeys.end() || value.empty()) continue;  // "tree:", "block:" and "switches:" hold the rest
    auto& entries = sections.back().entries;
    if (known->second.opens) entries.push_back({file.number(), {}});
    if (entries.empty()) file.fail("'" + key + "' before the first switch or block");
    if (!entries.back().values.emplace(known->second.name, value).second) file.fail(key + " is there twice");
  }
  std::string names;
  for (const Section& section : sections) {
    names += (names.empty() ? "" : ", ") + section.name;
    if (said.empty() ? section.is_default || sections.size() == 1 : section.name == said) return section.entries;
  }
  throw InputError(said.empty() ? file.path() + ": none of its topologies is cluster_default: add option topology=" +
                                      "NAME, one of " + names
                                : "option topology: '" + said + "' is not there: one of " + names);
}

class Reader {
 public:
  explicit Reader(TextFile& file) : file_(file) {}

  Json switches(const std::string& topology) {
    Json list = Json::array();
    const bool yaml = is_yaml(file_);
    if (!yaml && !topology.empty()) throw InputError("option topology: is of topology.yaml");
    for (const Entry& entry : yaml ? yaml_entries_of(file_, topology) : entries_of(file_)) {
      if (entry.values.count("blocksizes") > 0 && entry.values.size() == 1) continue;
      list.push_back(switch_of(entry));
    }
    if (list.empty()) file_.fail_at(1, "no SwitchName and no BlockName in the whole file");
    refuse_what_is_no_tree();
    return list;
  }

 private:
  Json switch_of(Entry entry) {
    // Level, BlockIndex and BlockSize are what scontrol prints besides; it lists the nodes below switches, too.
    static const std::set<std::string> kRead = {"switchname", "nodes",      "switches",  "linkspeed",
                                                "blockname",  "blockindex", "blocksize", "level"};
    if (entry.values.count("level") > 0 && entry.values.count("switches") > 0) entry.values.erase("nodes");
    for (const auto& [key, value] : entry.values)
      if (kRead.count(key) == 0)
        file_.fail_at(entry.line,
                      "'" + key + "' is not read: one of SwitchName, Nodes, Switches, LinkSpeed, BlockName");
    auto name = entry.values.find("switchname");
    if (name == entry.values.end()) name = entry.values.find("blockname");
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
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {
        {"topology", "of topology.yaml: which of its topologies (default: the cluster's default, or the only one)"}};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override {
    if (request.machine.empty()) throw InputError("machine: topology-conf needs a name for the cluster");
    if (request.files.size() != 1) throw InputError("file: topology-conf reads one file");
    TextFile file(request.files.front());
    Json record{{"schema", "node-groups/1"},
                {"name", request.machine},
                {"source", "Slurm's " + file_name(file.path())},
                {"switches", Reader(file).switches(option_text(request, "topology").value_or(""))}};
    static_cast<void>(read_node_groups(record, file.path()));  // what no single line can have wrong
    return record;
  }
};

const bool topology_conf_registered = importers().add(
    {"topology-conf",
     "Slurm's topology.conf (tree or block), scontrol show topology, or topology.yaml of 25.05 -> node-groups/1",
     "Slurm, topology.conf(5), topology.yaml(5)"},
    [] { return std::make_unique<TopologyConf>(); });

}  // namespace
}  // namespace linkcast
