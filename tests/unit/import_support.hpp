#pragma once
// Imports samples of tests/input/import and asks for single points of the result. Samples print figures published for
// the machines they name, as far as they were at hand; bidirectional bandwidths, and what only fills a format, are made
// up.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "calibrate/import/importer.hpp"
#include "sim/records/measurement.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test {

using Options = std::map<std::string, std::string>;

inline std::string sample_path(const std::string& name) { return test::data_dir() + "/tests/input/import/" + name; }

/// The record that an importer makes, read by the strict reader.
inline Measurement imported_files(const std::string& format, const std::vector<std::string>& paths,
                                  const Options& options = {}) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "record.json").string();
  std::ofstream(path) << import_record(format, {paths, "box", "p100-dgx1", options}).dump();
  return read_measurement(path);
}

inline Measurement imported(const std::string& format, const std::string& sample, const Options& options = {}) {
  return imported_files(format, {sample_path(sample)}, options);
}

/// Which point is meant.
struct Wanted {
  std::string transport, source, target;
  double size_B = 0;
  std::string direction = {};
  bool bidirectional = false;
  std::string engine = "ce";
};

inline bool is_wanted(const MeasuredPoint& p, const Wanted& w) {
  return p.transport == w.transport && p.source == w.source && p.target == w.target && p.size_B == w.size_B &&
         p.direction == w.direction && p.bidirectional == w.bidirectional && p.engine == w.engine;
}

/// Times of the only point of this kind.
inline std::vector<double> times_of(const std::vector<MeasuredPoint>& points, const Wanted& wanted) {
  INFO(wanted.transport << ' ' << wanted.source << ' ' << wanted.target << ' ' << wanted.size_B);
  const auto fits = [&](const MeasuredPoint& p) { return is_wanted(p, wanted); };
  REQUIRE(std::count_if(points.begin(), points.end(), fits) == 1);
  return std::find_if(points.begin(), points.end(), fits)->time_s;
}

inline bool has_note(const Measurement& m, const std::string& start) {
  return std::any_of(m.notes.begin(), m.notes.end(),
                     [&](const std::string& note) { return note.rfind(start, 0) == 0; });
}

/// The error of an import, or "none".
inline std::string error_of(const std::string& format, const std::vector<std::string>& paths,
                            const Options& options = {}) {
  try {
    import_record(format, {paths, "box", "p100-dgx1", options});
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

/// The error of an import after the first `from` of a sample became `to`; an empty `to` cuts the text there.
/// The file is called FILE.
inline std::string error_after(const std::string& format, const std::string& sample, const std::string& from,
                               const std::string& to, const Options& options = {}) {
  INFO(sample << ": " << from);
  std::string text = text_of_file(sample_path(sample));
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text = to.empty() ? text.substr(0, at) : text.replace(at, from.size(), to);
  const ScratchFolder scratch;
  const std::string path = (scratch / sample).string();
  std::ofstream(path, std::ios::binary) << text;
  std::string error = error_of(format, {path}, options);
  for (std::size_t place = error.find(path); place != std::string::npos; place = error.find(path))
    error.replace(place, path.size(), "FILE");
  return error;
}

}  // namespace linkcast::test
