#pragma once
// A measurement/1 file that grows point by point and is complete on disk at any moment.
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace linkcast::bench {

using Json = nlohmann::ordered_json;

class RecordFile {
 public:
  /// `header`: every field but points. With `resume` the measured points of an existing file are kept.
  /// @throws InputError  if the file exists and `resume` is false, or if it was taken on other GPUs
  RecordFile(std::string path, Json header, bool resume);

  [[nodiscard]] bool has(const Json& key) const { return keys_.count(key.dump()) != 0; }
  [[nodiscard]] std::size_t size() const { return points_.size(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Keeps a point in memory; write() makes it last.
  void add(const Json& key, const Json& results);
  void set_environment(const std::string& name, Json value) { header_["environment"][name] = std::move(value); }
  void write();
  /// Writes when `seconds` have passed since the last write.
  void write_if_older(double seconds);

 private:
  void load();

  std::string path_;
  Json header_;
  Json points_ = Json::array();
  std::set<std::string> keys_;
  double written_at_ = 0;
};

}  // namespace linkcast::bench
