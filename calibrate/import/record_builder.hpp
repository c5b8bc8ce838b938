#pragma once
// A record of schema measurement/1 in the making.
#include <map>
#include <string>
#include <vector>

#include "calibrate/import/importer.hpp"

namespace linkcast {

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
