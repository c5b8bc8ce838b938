#pragma once
// A day of jobs: who asks for how many GPUs when, and what each iteration computes and exchanges.
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::scheduling {

struct ScheduledJob {
  std::string id;
  double arrival_s = 0;
  int gpus = 1;
  long iterations = 1;
  double compute_s = 0;  ///< of an iteration, on each GPU, beside nothing
  std::string op{};      ///< behind it; empty: nothing
  double size_B = 0;
};

struct JobList {
  std::string name, source;
  std::vector<std::string> notes;
  std::vector<ScheduledJob> jobs;  ///< by arrival
};

/// JSON Lines: {"schema": "jobs/1", "name", "source", "notes"?}, then {"id", "arrival_s", "gpus", "iterations",
/// "compute_s", "op"?, "size_B"?} in the order of arrival. @throws InputError  file, line and key
JobList read_job_list(const std::string& path);

}  // namespace linkcast::scheduling
