#pragma once
// Imports samples of tests/input/traces and keeps the events.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/machine/trace_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test {

using Options = std::map<std::string, std::string>;

/// Keeps what an importer says, as text too.
class Kept final : public TraceSink {
 public:
  void header(const TraceHeader& header) override {
    head = header;
    text += trace_line(to_json(header));
  }
  void event(const TraceEvent& event) override {
    events.push_back(event);
    text += trace_line(to_json(event));
  }
  [[nodiscard]] std::vector<TraceEvent> of(int rank) const {
    std::vector<TraceEvent> mine;
    for (const TraceEvent& event : events)
      if (event.rank == rank) mine.push_back(event);
    return mine;
  }
  [[nodiscard]] bool notes(const std::string& part) const {
    return std::any_of(head.notes.begin(), head.notes.end(),
                       [&](const std::string& note) { return note.find(part) != std::string::npos; });
  }

  TraceHeader head;
  std::vector<TraceEvent> events;
  std::string text;
};

inline std::string trace_sample(const std::string& name) { return test::data_dir() + "/tests/input/traces/" + name; }

inline std::unique_ptr<Kept> imported_trace(const std::string& format, const std::vector<std::string>& paths,
                                            const Options& options = {}) {
  auto kept = std::make_unique<Kept>();
  const TraceImporter& importer = trace_importers().get(format);
  const TraceOptions said(options);
  said.refuse_others(format, importer.options());
  importer.run(paths, said, *kept);
  return kept;
}

inline std::unique_ptr<Kept> trace_of(const std::string& format, const std::string& text, const Options& options = {}) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "FILE").string();
  std::ofstream(path, std::ios::binary) << text;
  return imported_trace(format, {path}, options);
}

/// The error of an import of a file with this text, which it calls FILE; "none" if there is none.
inline std::string trace_error(const std::string& format, const std::string& text, const Options& options = {}) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "FILE").string();
  std::ofstream(path, std::ios::binary) << text;
  try {
    imported_trace(format, {path}, options);
  } catch (const InputError& error) {
    std::string what = error.what();
    for (auto at = what.find(path); at != std::string::npos; at = what.find(path))
      what.replace(at, path.size(), "FILE");
    return what;
  }
  return "none";
}

/// Bytes changed, cut out, doubled or cut off.
inline std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return random() % std::max<std::size_t>(n, 1); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = below(text.size());
    const std::string interesting = "0179-+.eE{}[]\":, \n\t/x#b\xff";
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = interesting[below(interesting.size())];
        break;
      case 2:
        text.erase(at, 1 + below(20));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      default:
        text.insert(at, std::string(1 + below(12), interesting[below(interesting.size())]));
    }
  }
  if (below(10) == 0) text.resize(below(text.size()));
  return text;
}

/// An importer takes or refuses a broken file with one line, and what it writes is a trace.
inline void check_mutations(const std::string& format, const std::string& good, int times,
                            const Options& options = {}) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "FILE").string();
  std::mt19937 random(1);
  int taken = 0, refused = 0;
  for (int i = 0; i < times; ++i) {
    std::ofstream(path, std::ios::binary) << mutated(good, random);
    std::unique_ptr<Kept> kept;
    try {
      kept = imported_trace(format, {path}, options);
      ++taken;
    } catch (const InputError& error) {
      ++refused;
      const std::string what = error.what();
      if (what.empty() || what.find('\n') != std::string::npos) FAIL(what);
      continue;
    }
    TraceReader reader(std::make_unique<std::istringstream>(kept->text), "trace");
    while (reader.next()) continue;
  }
  CHECK(taken + refused == times);
  CHECK(refused > 0);
}

}  // namespace linkcast::test
