#include "calibrate/pipelines/held_out.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/log.hpp"

namespace linkcast::pipelines {
namespace {

// Collectives of the fitted machines are met within 1.02 to 1.3: beyond this they are of something else. source:
// models/params
constexpr double kOtherThings = 2;

Json to_json(const learn::AccuracyRow& row) {
  return {{"left_out", row.left_out},
          {"machine", row.machine},
          {"library", row.library},
          {"nodes", row.nodes},
          {"op", row.op},
          {"sizes", row.sizes},
          {"points", row.points},
          {"median", row.median},
          {"p95", row.p95},
          {"bias", row.bias},
          {"coverage", row.coverage}};
}

Json to_json(const learn::Point& p) {
  return {{"file", p.file},
          {"library", p.library},
          {"op", p.op},
          {"nodes", p.nodes},
          {"gpus_per_node", p.gpus},
          {"size_B", p.size_B},
          {"algorithm", p.algorithm},
          {"protocol", p.protocol},
          {"measured_s", p.measured_s},
          {"modelled_s", p.modelled_s},
          {"low_s", p.low_s},
          {"high_s", p.high_s}};
}

template <class Row>
Json list_of(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(to_json(row));
  return list;
}

/// One line for all that is refused alike.
void say_refused(const std::vector<std::string>& refused) {
  std::map<std::string, int> times;
  for (const std::string& error : refused) ++times[error];
  for (const auto& [error, count] : times)
    log::Log("fit").note("no forecast{}: {}", count > 1 ? fmt::format(" of {} collectives", count) : "", error);
}

std::vector<learn::Sample> kept_of(const std::vector<learn::Sample>& samples, const std::vector<learn::Part>& parts) {
  std::vector<learn::Sample> kept;
  for (const learn::Sample& sample : samples)
    if (std::none_of(parts.begin(), parts.end(), [&](const learn::Part& part) { return part.holds(sample); }))
      kept.push_back(sample);
  return kept;
}

learn::Lesson learn_from(catalogue::Catalogue& catalogue, const Topology& topology,
                         const std::vector<learn::Sample>& kept, Calibration& calibration) {
  learn::Lesson lesson = learn::learn_collectives(catalogue, topology, calibration, kept);
  if (!kept.empty() && lesson.points.empty())
    throw InputError(
        fmt::format("calibrate fit: none of {} collectives can be forecast: {}", kept.size(), lesson.refused.front()));
  say_refused(lesson.refused);
  if (std::exp(lesson.sigma) > kOtherThings)
    log::Log("fit").note(
        "the forecast misses these collectives by a factor of {:.4g}: are they of this machine, and their times in "
        "seconds?",
        std::exp(lesson.sigma));
  return lesson;
}

}  // namespace

void learn_or_hold_out(catalogue::Catalogue& catalogue, const MachineFit& machine, const Topology& topology,
                       const std::vector<Measurement>& measurements, FittedMachine& out) {
  out.scored = !machine.hold_out.empty() || !machine.leave_out.empty();
  const std::vector<learn::Sample> samples = learn::samples_of(measurements);
  if (samples.empty()) {
    if (out.scored) throw InputError("hold_out, leave_out: no measurement holds collectives of a named library");
    return;
  }
  const auto score = [&](learn::HeldOut held) {
    say_refused(held.refused);
    auto rows = learn::accuracy(held.points, topology.name, held.part);
    out.held_out.push_back({std::move(held), std::move(rows)});
  };
  std::vector<learn::Part> held;
  for (const std::string& text : machine.hold_out) {
    held.emplace_back(text);
    static_cast<void>(learn::samples_of_part(samples, held.back()));  // before the fit, which takes its time
  }
  if (!machine.leave_out.empty()) {
    const std::vector<learn::Part> parts = learn::parts_of(samples, machine.leave_out);
    log::Work work(catalogue.progress(), "left out", "parts", static_cast<std::int64_t>(parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      work.advance(static_cast<std::int64_t>(i), parts[i].text());
      score(learn::hold_out(catalogue, topology, out.fit.calibration, samples, parts[i]));
    }
    return;
  }
  out.lesson = learn_from(catalogue, topology, kept_of(samples, held), out.fit.calibration);
  for (const learn::Part& part : held) {
    learn::HeldOut one{part.text(), {}, {}};
    one.points =
        learn::forecasts(catalogue, topology, out.fit.calibration, learn::samples_of_part(samples, part), one.refused);
    score(std::move(one));
  }
  for (const learn::Taught& t : out.lesson->parameters)
    if (!t.estimate.determined) out.fit.undetermined.push_back(t.name + ": collectives that it limits");
}

Json to_json(const FittedMachine& fitted) {
  Json out = Json::object();
  out["left_out_rows"] = Json::array();
  for (const Scatter& s : fitted.fit.calibration.scatter)
    if (s.transport.starts_with("left_out."))
      out["left_out_rows"].push_back(
          {{"transport", s.transport}, {"from_B", s.from_B}, {"to_B", s.to_B}, {"sigma_log", s.sigma_log}});
  if (fitted.scored) {
    out["held_out"] = Json::array();
    for (const HeldOutPart& part : fitted.held_out)
      out["held_out"].push_back({{"left_out", part.held.part},
                                 {"rows", list_of(part.rows)},
                                 {"points", list_of(part.held.points)},
                                 {"refused", part.held.refused}});
  }
  if (fitted.lesson) out["points"] = list_of(fitted.lesson->points);
  return out;
}

}  // namespace linkcast::pipelines
