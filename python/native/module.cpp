// The Python module linkcast._native: questions and answers as JSON, and the pipelines of files. python/linkcast makes
// objects of them. Python's lock is released while linkcast works.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/pipelines/fit_machine.hpp"
#include "calibrate/pipelines/init_machine.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/release.hpp"
#include "sim/base/table.hpp"
#include "sim/engine/run_events.hpp"
#include "sim/engine/worker_program.hpp"
#include "sim/query/batch_line.hpp"
#include "sim/query/provenance.hpp"
#include "sim/query/query.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/query/schema.hpp"
#include "validate/claim.hpp"
#include "validate/diagnosis/diagnose_logs.hpp"
#include "validate/diagnosis/report.hpp"
#include "validate/scoreboard.hpp"

namespace linkcast::python {
namespace {

namespace py = pybind11;
using Clock = std::chrono::steady_clock;
using Text = std::string;

constexpr auto kBetweenSignals = std::chrono::milliseconds(50);  // source: ours, less than one feels
constexpr std::size_t kMostLinesAChunk = 64;                     // source: ours, neighbours share communicators
constexpr std::size_t kChunksAWorker = 8;                        // source: ours, so that all end at about the same time

/// Ctrl-C, thrown through a forecast; Python's error is set. No std::exception: nothing failed.
struct Stopped {};

void check_signals() {
  thread_local Clock::time_point next;
  if (const auto now = Clock::now(); now >= next) {
    next = now + kBetweenSignals;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw Stopped();
  }
}

/// Works without Python's lock, and raises what Ctrl-C brought.
template <class Work>
auto unlocked(Work work) {
  try {
    const py::gil_scoped_release release;
    const EventCheck ctrl_c(check_signals);
    return work();
  } catch (const Stopped&) {
    throw py::error_already_set();
  }
}

Text dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Catalogue and memories with which one thread answers queries.
struct Desk {
  explicit Desk(const Text& data_dir) : catalogue(data_dir) {}
  catalogue::Catalogue catalogue;
  query::Memories memories{};
};

/// Desks of one data folder, each used by one thread at a time. One whose user threw Stopped is not seen again.
class Catalogues {
 public:
  explicit Catalogues(Text data_dir) : data_dir_(std::move(data_dir)) {}

  std::unique_ptr<Desk> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return std::make_unique<Desk>(data_dir_);
    auto one = std::move(idle_.back());
    idle_.pop_back();
    return one;
  }

  void give_back(std::unique_ptr<Desk> one) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(one));
  }

  template <class Work>
  auto with_one(Work work) {
    auto one = take();
    try {
      auto result = work(*one);
      give_back(std::move(one));
      return result;
    } catch (const std::exception&) {
      give_back(std::move(one));
      throw;
    }
  }

 private:
  Text data_dir_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Desk>> idle_;
};

/// Threads that share out work in chunks, each with a catalogue of its own.
class Threads {
 public:
  using Work = std::function<void(Desk& desk, std::size_t begin, std::size_t end)>;
  /// @param work  what is from begin to before end of so many. An error ends what comes after, not what comes before
  Threads(Catalogues& catalogues, std::size_t count, std::size_t jobs, Work work)
      : catalogues_(catalogues), count_(count), work_(std::move(work)) {
    jobs = std::clamp<std::size_t>(jobs, 1, std::max<std::size_t>(count, 1));
    chunk_ = std::clamp<std::size_t>(count / (jobs * kChunksAWorker), 1, kMostLinesAChunk);
    running_ = jobs;
    for (std::size_t i = 0; i < jobs; ++i) threads_.emplace_back([this] { run(); });
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  /// Looks for Ctrl-C while the threads work. @throws Stopped  and what the earliest chunk that failed threw
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (running_ > 0) {
      ended_.wait_for(lock, kBetweenSignals);
      lock.unlock();
      check_signals();
      lock.lock();
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void check_stop() const {
    if (stop_) throw Stopped();
  }

  void run() {
    std::size_t begin = 0;
    std::unique_ptr<Desk> desk;
    try {
      const EventCheck check([this] { check_stop(); });
      desk = catalogues_.take();
      for (begin = next_.fetch_add(chunk_); begin < count_; begin = next_.fetch_add(chunk_)) {
        check_stop();
        work_(*desk, begin, std::min(begin + chunk_, count_));
      }
    } catch (const Stopped&) {
      desk.reset();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_ || begin < failed_) error_ = std::current_exception();
      failed_ = std::min(failed_, begin);
      next_ = count_;  // chunks before this one have begun
    }
    if (desk) catalogues_.give_back(std::move(desk));
    const std::lock_guard<std::mutex> lock(mutex_);
    --running_;
    ended_.notify_one();
  }

  Catalogues& catalogues_;
  const std::size_t count_;
  const Work work_;
  std::size_t chunk_ = 1, running_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::exception_ptr error_;
  std::size_t failed_ = std::numeric_limits<std::size_t>::max();
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<std::thread> threads_;
};

/// @returns  an answer each line that is not blank
std::vector<Text> batch(Catalogues& catalogues, const std::vector<Text>& lines, const Text& name, std::size_t jobs) {
  std::vector<Text> answers(lines.size());
  Threads(catalogues, lines.size(), jobs, [&](Desk& desk, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (query::is_blank(lines[i])) continue;
      const Text place = name + " line " + std::to_string(i + 1);
      answers[i] = query::answer_line(desk.catalogue, lines[i], place, {}, &desk.memories).text;
    }
  }).wait();
  std::vector<Text> all;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!query::is_blank(lines[i])) all.push_back(std::move(answers[i]));
  return all;
}

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// One query over and over, with other numbers: what a batch answers, without its texts.
class ManyRows {
 public:
  /// @param columns  a list of numbers each, as long as the others. @param results  keys of answers
  ManyRows(const Text& query, const std::vector<std::pair<Text, Numbers>>& columns, std::vector<Text> results)
      : query_(parse_json(query, "query")), results_(std::move(results)) {
    for (const auto& [key, numbers] : columns) {
      columns_.emplace_back(key, numbers.data());
      query_[key] = nullptr;
      rows_ = static_cast<std::size_t>(numbers.size());
    }
  }
  [[nodiscard]] std::size_t rows() const { return rows_; }

  /// @param out  a row of results each; NaN where an answer has no such number
  /// @throws InputError  a query has no answer; it says which
  void answer(Catalogues& catalogues, std::size_t jobs, double* out) const {
    jobs = std::min(jobs, 1 + rows_ / kRowsAThread);
    Threads(catalogues, rows_, jobs, [&](Desk& desk, std::size_t begin, std::size_t end) {
      Json query = query_;
      std::vector<Json*> varied;
      for (const auto& [key, numbers] : columns_) varied.push_back(&query[key]);
      for (std::size_t row = begin; row < end; ++row) {
        for (std::size_t c = 0; c < varied.size(); ++c) *varied[c] = number(columns_[c].second[row]);
        put_row(desk, query, row, out + row * results_.size());
      }
    }).wait();
  }

 private:
  static constexpr std::size_t kRowsAThread = 1024;  // source: ours, hgx-h200 of its own costs a thread 250 copies

  void put_row(Desk& desk, const Json& query, std::size_t row, double* out) const {
    Json answer = query::members_of_answer(desk.catalogue, query, "row " + std::to_string(row), &desk.memories);
    for (const Text& key : results_) {
      const auto found = answer.find(key);
      *out++ =
          found != answer.end() && found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
    }
    release(answer);
  }

  /// A whole one as JSON has it: numbers of GPUs are.
  static Json number(double value) {
    constexpr double kMostWhole = 9007199254740992;  // source: IEEE 754, 2^53
    if (std::abs(value) <= kMostWhole && value == std::floor(value)) return static_cast<std::int64_t>(value);
    return value;
  }

  Json query_;
  std::vector<std::pair<Text, const double*>> columns_{};
  std::vector<Text> results_;
  std::size_t rows_ = 0;
};

/// Notes as the command line says them.
std::vector<Text> said(const std::vector<pipelines::Note>& notes) {
  std::vector<Text> lines;
  for (const pipelines::Note& note : notes) lines.push_back((note.warning ? "warning: " : "") + note.text);
  return lines;
}

struct Diagnosed {
  Text answer, text;
  diagnosis::Verdict verdict = diagnosis::Verdict::kNormal;
};

Diagnosed diagnose_answer(catalogue::Catalogue& catalogue, const diagnosis::LogRequest& request) {
  diagnosis::LogAnswer found = diagnosis::diagnose_logs(catalogue, request);
  if (!request.platform.empty()) found.json["platform"] = request.platform;
  return {dumped(found.json), found.text, found.verdict};
}

/// Answer, and whether no claim failed.
std::pair<Text, bool> validate_claims(catalogue::Catalogue& catalogue, const std::vector<Text>& ids) {
  const auto claims = validate::chosen_claims(catalogue.data_dir(), {ids, {}, {}});
  const auto results = validate::evaluate(catalogue, claims);
  return {dumped(validate::scoreboard_json(results)), validate::none_failed(results)};
}

/// Answer, and whether all are within the limits.
std::pair<Text, bool> compare_answer(catalogue::Catalogue& catalogue, const diagnosis::CompareRequest& request) {
  Json list = Json::array();
  bool within = true;
  for (const validate::Comparison& comparison : diagnosis::compare_files(catalogue, request)) {
    list.push_back(validate::to_json(comparison, true));
    within = within && comparison.within_limits();
  }
  return {dumped({{"comparisons", list}}), within};
}

/// Text of the file that `linkcast import` writes, and notes.
std::pair<Text, std::vector<Text>> import_files(catalogue::Catalogue& catalogue, const Text& format,
                                                const ImportRequest& request) {
  if (pipelines::gives_trace(format)) {
    Text lines;
    const auto notes =
        pipelines::import_trace(catalogue, format, request, [&](std::string_view more) { lines += more; });
    return {lines, said(notes)};
  }
  const pipelines::ImportedRecord imported = pipelines::import_measured(catalogue, format, request);
  return {imported.record.dump(1) + "\n", said(imported.notes)};
}

/// Text of the calibration file, and what was learned and held out.
std::pair<Text, Text> fit_answer(catalogue::Catalogue& catalogue, const pipelines::MachineFit& request) {
  const pipelines::FittedMachine fitted = pipelines::fit_machine(catalogue, request);
  return {fit::to_json(fitted.fit).dump(1) + "\n", dumped(pipelines::to_json(fitted))};
}

std::pair<Text, std::vector<Text>> init_answer(catalogue::Catalogue& catalogue, const pipelines::NewMachine& request) {
  const pipelines::InitialisedMachine result = pipelines::init_machine(catalogue, request);
  return {dumped({{"found", result.found},
                  {"topology", result.topology},
                  {"platform", result.platform},
                  {"notes", result.notes}}),
          said(result.import_notes)};
}

/// Names of the shipped machines, sorted.
std::vector<Text> platforms(catalogue::Catalogue& catalogue) { return catalogue.platforms(); }

Text text(double value, const Text& unit) {
  if (unit == "s") return to_text(Seconds{value});
  return unit == "B" ? to_text(Bytes{value}) : to_text(BytesPerSecond{value});
}

/// A key may be given as the text that its option of the command line takes: "64MiB", "0-3".
Json value_of(const query::Key& key, const Json& given) {
  const bool list_of_texts = key.type == query::ValueType::kTexts;
  if (!key.cli.parse) return given;
  if (given.is_string()) return key.cli.parse(given.get<Text>(), key.name);
  if (!given.is_array() || !key.cli.repeated || list_of_texts) return given;
  Json list = Json::array();
  for (const Json& one : given) list.push_back(one.is_string() ? key.cli.parse(one.get<Text>(), key.name) : one);
  return list;
}

/// A query with its texts read.
Text question(const Text& query) {
  Json read = parse_json(query, "query");
  const query::KeyTable& keys = query::query_kinds().get(read.at("kind").get<Text>()).keys();
  for (auto& [name, value] : read.get_ref<Json::object_t&>())
    if (const query::Key* key = query::find_key(keys, name); key != nullptr) value = value_of(*key, value);
  return dumped(read);
}

using Texts = std::map<Text, Text>;

pipelines::MachineFit fit_request(const py::kwargs& keys) {
  pipelines::MachineFit request;
  const auto read = [&keys](const char* key, auto& into) {
    if (keys.contains(key)) into = keys[key].cast<std::decay_t<decltype(into)>>();
  };
  read("measurements", request.measurements);
  read("topology", request.topology);
  read("name", request.name);
  read("library", request.library);
  read("unmeasured", request.unmeasured);
  read("only", request.only);
  read("inherit", request.inherit);
  read("inherit_library", request.inherit_library);
  read("hold_out", request.hold_out);
  read("leave_out", request.leave_out);
  read("bootstrap", request.bootstrap);
  return request;
}

/// One of the classes of linkcast.errors, so that there is one of each.
void raise(const char* type, const Text& what) {
  const auto text = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(what.data(), static_cast<py::ssize_t>(what.size()), "replace"));
  PyErr_SetObject(py::module_::import("linkcast.errors").attr(type).ptr(), text.ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    raise("InputError", one_line(error.what()));
  } catch (const std::filesystem::filesystem_error& error) {
    raise("InputError", one_line(file_error_text(error)));
  } catch (const InvariantError& error) {
    raise("InternalError", Text("internal error, please report: ") + error.what());
  }
}

/// Pipelines of files: they answer as the commands of their names do.
void add_pipelines(py::class_<Catalogues>& catalogues) {
  catalogues
      .def("platforms",
           [](Catalogues& self) { return self.with_one([](auto& one) { return platforms(one.catalogue); }); })
      .def("diagnose",
           [](Catalogues& self, std::vector<Text> files, Text platform, std::vector<Text> edits,
              std::vector<Text> baseline, Text format, Texts options, Text library, bool force) {
             const diagnosis::LogRequest request{std::move(files),
                                                 std::move(platform),
                                                 std::move(edits),
                                                 std::move(baseline),
                                                 {std::move(format), std::move(options), std::move(library)},
                                                 force};
             const Diagnosed found = unlocked(
                 [&] { return self.with_one([&](auto& one) { return diagnose_answer(one.catalogue, request); }); });
             return py::make_tuple(found.answer, found.text, diagnosis::text_of(found.verdict));
           })
      .def("validate",
           [](Catalogues& self, const std::vector<Text>& ids) {
             return unlocked(
                 [&] { return self.with_one([&](auto& one) { return validate_claims(one.catalogue, ids); }); });
           })
      .def("compare",
           [](Catalogues& self, std::vector<Text> files, Text platform, std::vector<Text> edits,
              std::optional<double> median, std::optional<double> p95) {
             const diagnosis::CompareRequest request{
                 std::move(files), std::move(platform), std::move(edits), {median, p95}};
             return unlocked(
                 [&] { return self.with_one([&](auto& one) { return compare_answer(one.catalogue, request); }); });
           })
      .def("import_",
           [](Catalogues& self, const Text& format, std::vector<Text> files, Text machine, Text topology,
              Texts options) {
             const ImportRequest request{std::move(files), std::move(machine), std::move(topology), std::move(options)};
             return unlocked([&] {
               return self.with_one([&](auto& one) { return import_files(one.catalogue, format, request); });
             });
           })
      .def("fit",
           [](Catalogues& self, const py::kwargs& keys) {
             const pipelines::MachineFit request = fit_request(keys);
             return unlocked(
                 [&] { return self.with_one([&](auto& one) { return fit_answer(one.catalogue, request); }); });
           })
      .def("init", [](Catalogues& self, std::vector<Text> files, Text out, Text machine, Texts options, bool force) {
        const pipelines::NewMachine request{std::move(files), std::move(out), std::move(machine), std::move(options),
                                            force};
        return unlocked([&] { return self.with_one([&](auto& one) { return init_answer(one.catalogue, request); }); });
      });
}

PYBIND11_MODULE(_native, m) {
  m.doc() = "linkcast in this process: JSON in, JSON out";
  py::register_exception_translator(translate);
  m.def("set_program", [](const Text& path) { set_worker_program(path); });
  m.def("version", [] { return std::make_pair(Text(query::build_version()), Text(query::build_commit())); });
  m.def("schema", [](const Text& kind) { return dumped(query::kind_schema(kind)); });
  m.def("text", text, py::arg("value"), py::arg("unit"));
  m.def("question", question, py::arg("query"));
  py::class_<Catalogues> catalogues(m, "Catalogues");
  catalogues.def(py::init<Text>(), py::arg("data_dir"))
      .def("answer",
           [](Catalogues& self, const Text& query, const Text& name) {
             return unlocked([&] {
               const Json asked = parse_json(query, name);
               return self.with_one(
                   [&](Desk& desk) { return query::written_answer(desk.catalogue, asked, name, &desk.memories); });
             });
           })
      .def("whatif",
           [](Catalogues& self, const Text& query, const Text& name) {
             return unlocked([&] {
               const Json asked = parse_json(query, name);
               return self.with_one([&](Desk& desk) {
                 return dumped(query::whatif_answer(desk.catalogue, asked, name, &desk.memories));
               });
             });
           })
      .def("check",
           [](Catalogues& self, const Text& platform, const std::vector<Text>& edits) {
             unlocked([&] {
               return self.with_one([&](Desk& desk) {
                 return desk.catalogue.edited(desk.catalogue.machine(platform), edits)->platform().wiring().title;
               });
             });
           })
      .def("batch", [](Catalogues& self, const std::vector<Text>& lines, const Text& name,
                       std::size_t jobs) { return unlocked([&] { return batch(self, lines, name, jobs); }); })
      .def("arrays", [](Catalogues& self, const Text& query, const std::vector<std::pair<Text, Numbers>>& columns,
                        const std::vector<Text>& results, std::size_t jobs) {
        const ManyRows rows(query, columns, results);
        Numbers out({rows.rows(), results.size()});
        double* first = out.mutable_data();
        unlocked([&] {
          rows.answer(self, jobs, first);
          return true;
        });
        return out;
      });
  add_pipelines(catalogues);
}

}  // namespace
}  // namespace linkcast::python
