#include "sim/place/job_list.hpp"

#include <fmt/format.h>

#include <fstream>
#include <set>

#include "sim/base/ranges.hpp"
#include "sim/machine/collective.hpp"

namespace linkcast::scheduling {
namespace {

double time_of(ObjectReader& r, const std::string& key) {
  const double value = r.required<double>(key);
  if (value < 0) r.fail(key, "must be 0 or more");
  if (const std::string wrong = range_refusal("s", value); !wrong.empty()) r.fail(key, wrong);
  return value;
}

ScheduledJob read_job(ObjectReader r, double after_s) {
  ScheduledJob job;
  job.id = r.required<std::string>("id");
  job.arrival_s = time_of(r, "arrival_s");
  if (job.arrival_s < after_s)
    r.fail("arrival_s", "is before that of the line above: jobs are in the order of arrival");
  job.gpus = r.required<int>("gpus");
  if (job.gpus < 1) r.fail("gpus", "must be at least 1");
  job.iterations = r.required<std::int64_t>("iterations");
  if (job.iterations < 1) r.fail("iterations", "must be at least 1");
  job.compute_s = time_of(r, "compute_s");
  job.op = r.optional<std::string>("op").value_or("");
  if (!job.op.empty()) {
    static_cast<void>(collectives().get(job.op));  // says which there are
    job.size_B = r.required<double>("size_B");
    if (!(job.size_B >= 1) || job.size_B > kLargest_B) r.fail("size_B", "must be 1 to 2^53");
  }
  if (job.compute_s == 0 && (job.op.empty() || job.gpus == 1)) r.fail("compute_s", "a job that does nothing");
  r.finish();
  return job;
}

}  // namespace

JobList read_job_list(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw InputError(path + ": cannot be read");
  JobList list;
  std::set<std::string> ids;
  long line = 0;
  for (std::string text; std::getline(file, text);) {
    const std::string name = fmt::format("{} line {}", path, ++line);
    const Json json = parse_json(text, name);
    ObjectReader r(json, name);
    if (line == 1) {
      r.schema("jobs/1");
      list.name = r.required<std::string>("name");
      list.source = r.required<std::string>("source");
      list.notes = r.optional<std::vector<std::string>>("notes").value_or(std::vector<std::string>{});
      r.finish();
      continue;
    }
    list.jobs.push_back(read_job(std::move(r), list.jobs.empty() ? 0 : list.jobs.back().arrival_s));
    if (!ids.insert(list.jobs.back().id).second) throw InputError(name, "/id", "is that of a job above");
  }
  if (list.jobs.empty()) throw InputError(path + ": has no jobs");
  return list;
}

}  // namespace linkcast::scheduling
