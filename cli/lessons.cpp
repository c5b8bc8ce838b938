#include "cli/lessons.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>

#include "calibrate/learn/accuracy.hpp"
#include "cli/texts.hpp"
#include "sim/log/log.hpp"
#include "sim/units/parse.hpp"

namespace linkcast::cli {
namespace {

// What no machine of the fitted ones comes near: their collectives are met within 1.02 to 1.3. source: models/params
constexpr double kOtherThings = 2;

std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

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

void print_rows(const std::vector<learn::AccuracyRow>& rows) {
  std::vector<std::vector<std::string>> table = {
      {"left out", "library", "nodes", "operation", "sizes", "points", "median", "95 %", "bias", "in interval"}};
  for (const learn::AccuracyRow& r : rows)
    table.push_back({r.left_out, r.library, std::to_string(r.nodes), r.op, r.sizes, std::to_string(r.points),
                     percent(r.median), percent(r.p95), signed_percent(r.bias), percent(r.coverage)});
  print_table(table);
}

void print_lesson(const learn::Lesson& lesson) {
  std::cout << "\nlearned from " << lesson.points.size() << " collectives, which the forecast meets within "
            << percent(std::expm1(lesson.sigma)) << " (standard deviation; fitted, not held out):\n";
  std::vector<std::vector<std::string>> table = {{"parameter", "value", "spread", "believed", "spread", ""}};
  for (const learn::Taught& t : lesson.parameters)
    table.push_back({t.name, figure(t.estimate.value), percent(t.estimate.spread), figure(t.prior.value),
                     percent(t.prior.spread), t.estimate.determined ? "learned" : "not determined"});
  print_table(table);
}

/// One line for all that is refused alike.
void say_refused(const std::vector<std::string>& refused) {
  std::map<std::string, int> times;
  for (const std::string& error : refused) ++times[error];
  for (const auto& [error, count] : times)
    log::Log("cli").note("no forecast{}: {}", count > 1 ? " of " + std::to_string(count) + " collectives" : "", error);
}

class Lessons {
 public:
  Lessons(Context& context, const LessonOptions& options, const Topology& topology,
          const std::vector<Measurement>& measurements, const Calibration& copies)
      : context_(context),
        options_(options),
        topology_(topology),
        copies_(copies),
        samples_(learn::samples_of(measurements)) {
    if (samples_.empty()) return;
    for (const std::string& text : options.hold_out) {
      held_.emplace_back(text);
      static_cast<void>(learn::samples_of_part(samples_, held_.back()));  // before the fit, which takes its time
    }
  }

  [[nodiscard]] bool any() const { return !samples_.empty(); }

  /// Each part left out in turn.
  Json left_out() {
    const std::vector<learn::Part> parts = learn::parts_of(samples_, options_.leave_out);
    std::vector<learn::HeldOut> scored;
    log::Work work(context_.progress(), "left out", "parts", static_cast<std::int64_t>(parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      work.advance(static_cast<std::int64_t>(i), parts[i].text());
      scored.push_back(learn::hold_out(context_.catalogue(), topology_, copies_, samples_, parts[i]));
    }
    return say(scored);
  }

  /// @param learned  without all that was held out
  Json held_out(const Calibration& learned) {
    std::vector<learn::HeldOut> scored;
    for (const learn::Part& part : held_) {
      learn::HeldOut held{part.text(), {}, {}};
      held.points = learn::forecasts(context_.catalogue(), topology_, learned, learn::samples_of_part(samples_, part),
                                     held.refused);
      scored.push_back(std::move(held));
    }
    return say(scored);
  }

  /// @param calibration  gets what was learned
  learn::Lesson learn(Calibration& calibration) {
    const std::vector<learn::Sample> from = kept();
    learn::Lesson lesson = learn::learn_collectives(context_.catalogue(), topology_, calibration, from);
    if (!from.empty() && lesson.points.empty())
      throw InputError("calibrate fit: none of " + std::to_string(from.size()) +
                       " collectives can be forecast: " + lesson.refused.front());
    say_refused(lesson.refused);
    if (std::exp(lesson.sigma) > kOtherThings)
      log::Log("cli").note(
          "the forecast misses these collectives by a factor of {}: are they of this machine, and their times in "
          "seconds?",
          figure(std::exp(lesson.sigma)));
    if (!context_.json) print_lesson(lesson);
    return lesson;
  }

 private:
  [[nodiscard]] std::vector<learn::Sample> kept() const {
    std::vector<learn::Sample> kept;
    for (const learn::Sample& sample : samples_)
      if (std::none_of(held_.begin(), held_.end(), [&](const learn::Part& part) { return part.holds(sample); }))
        kept.push_back(sample);
    return kept;
  }

  Json say(const std::vector<learn::HeldOut>& scored) {
    Json out = Json::array();
    std::vector<learn::AccuracyRow> rows;
    for (const learn::HeldOut& held : scored) {
      say_refused(held.refused);
      Json points = Json::array();
      for (const learn::Point& p : held.points) points.push_back(to_json(p));
      const auto of_part = learn::accuracy(held.points, topology_.name, held.part);
      Json table = Json::array();
      for (const learn::AccuracyRow& row : of_part) table.push_back(to_json(row));
      out.push_back({{"left_out", held.part}, {"rows", table}, {"points", points}, {"refused", held.refused}});
      rows.insert(rows.end(), of_part.begin(), of_part.end());
    }
    if (!context_.json && !rows.empty()) {
      std::cout << "\nforecasts of what was left out:\n";
      print_rows(rows);
    }
    return out;
  }

  Context& context_;
  const LessonOptions& options_;
  const Topology& topology_;
  const Calibration copies_;
  std::vector<learn::Sample> samples_;
  std::vector<learn::Part> held_;
};

}  // namespace

Json learn_and_print(Context& context, const LessonOptions& options, const Topology& topology,
                     const std::vector<Measurement>& measurements, fit::FitResult& fit) {
  Json out = Json::object();
  out["left_out_rows"] = Json::array();
  for (const Scatter& s : fit.calibration.scatter)
    if (s.transport.starts_with("left_out."))
      out["left_out_rows"].push_back(
          {{"transport", s.transport}, {"from_B", s.from_B}, {"to_B", s.to_B}, {"sigma_log", s.sigma_log}});
  Lessons lessons(context, options, topology, measurements, fit.calibration);
  if (!lessons.any()) {
    if (!options.hold_out.empty() || !options.leave_out.empty())
      throw InputError("--hold-out, --leave-out: no measurement holds collectives of a named library");
    return out;
  }
  if (!options.leave_out.empty()) {
    out["held_out"] = lessons.left_out();
    return out;
  }
  const learn::Lesson lesson = lessons.learn(fit.calibration);
  if (!options.hold_out.empty()) out["held_out"] = lessons.held_out(fit.calibration);
  out["points"] = Json::array();
  for (const learn::Point& p : lesson.points) out["points"].push_back(to_json(p));
  for (const learn::Taught& t : lesson.parameters)
    if (!t.estimate.determined) fit.undetermined.push_back(t.name + ": collectives that it limits");
  return out;
}

}  // namespace linkcast::cli
