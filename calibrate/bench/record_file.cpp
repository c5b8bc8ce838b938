#include "calibrate/bench/record_file.hpp"

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "sim/base/atomic_file.hpp"

namespace linkcast::bench {
namespace {

// Fields that a run adds; the others are the key of a point.
constexpr std::array<const char*, 7> kResultFields = {"status",       "reason",   "time_s",    "times_s",
                                                      "flow_times_s", "verified", "held_start"};

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

RecordFile::RecordFile(std::string path, Json header, bool resume)
    : path_(std::move(path)), header_(std::move(header)) {
  if (!std::filesystem::exists(path_)) return;
  if (!resume) throw InputError("--out: '" + path_ + "' exists: add --resume, or choose another --occasion");
  load();
}

void RecordFile::load() {
  std::ifstream file(path_);
  const Json old = Json::parse(file, nullptr, false);
  if (old.is_discarded() || !old.contains("points") || !old.contains("environment"))
    throw InputError(path_, "", "is not a measurement file: remove it or choose another --occasion");
  const auto gpus = [](const Json& record) { return record["environment"].value("gpu_uuids_hashed", Json()); };
  if (gpus(old) != gpus(header_))
    throw InputError(path_, "/environment/gpu_uuids_hashed", "was taken on other GPUs: choose another --occasion");
  for (Json point : old["points"]) {
    if (point.value("status", "") == "waived") continue;  // tried again
    points_.push_back(point);
    for (const char* field : kResultFields) point.erase(field);
    keys_.insert(point.dump());
  }
  header_["notes"].push_back("resumed: environment and method are those of the last part");
}

void RecordFile::add(const Json& key, const Json& results) {
  Json point = key;
  point.update(results);
  points_.push_back(std::move(point));
  keys_.insert(key.dump());
}

void RecordFile::write() {
  Json record = header_;
  record["points"] = points_;
  write_atomically(path_, record.dump(1) + "\n");
  written_at_ = now_s();
}

void RecordFile::write_if_older(double seconds) {
  if (now_s() - written_at_ > seconds) write();
}

}  // namespace linkcast::bench
