#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <thread>

#include "calibrate/bench/launch_issuer.hpp"

namespace linkcast::bench {

const std::vector<std::string>& launch_cuda_ops() {
  static const std::vector<std::string> ops = {
      "kernel",       "copy_peer_ce", "copy_peer_sm", "copy_local_ce",      "copy_h2d",          "copy_d2h",
      "event_record", "event_wait",   "stream_query", "stream_synchronise", "event_synchronise", "set_device"};
  return ops;
}

bool is_host_call(const std::string& op) {
  return op.rfind("event_", 0) == 0 || op.rfind("stream_", 0) == 0 || op == "set_device";
}

void LaunchBoard::meet() {
  const int now = generation.load();
  if (arrived.fetch_add(1) + 1 == issuers) {
    arrived.store(0);
    generation.fetch_add(1);
  }
  while (generation.load() == now)
    if (failed.load()) break;
  if (failed.load()) throw Waived(failure.data());
}

void LaunchBoard::fail(const char* why) {
  if (failed.exchange(true)) return;
  std::snprintf(failure.data(), failure.size(), "%s", why);
}

#ifdef LINKCAST_HAS_NCCL
namespace {

constexpr int kReplyDescriptor = 3;

/// @throws nlohmann::json::exception  if the parent sent something else
LaunchRequest read_request(const std::string& line) {
  const Json json = Json::parse(line);
  LaunchRequest request;
  std::snprintf(request.op.data(), request.op.size(), "%s", json.at("op").get<std::string>().c_str());
  request.bytes = json.at("size_B");
  request.sends = json.at("sends");
  request.communicators = json.at("communicators");
  request.calls_per_graph = json.at("calls_per_graph");
  request.calls = json.at("calls");
  request.repetitions = json.at("repetitions");
  request.held = json.at("held");
  return request;
}

/// Per repetition: the mean over issuers of what their own calls took, the slowest of what all wait for.
double over_issuers(const LaunchBoard& board, LaunchTime which, int repetition) {
  const bool own = which == kIssue || which == kRestIssue;
  double result = 0;
  for (int issuer = 0; issuer < board.issuers; ++issuer) {
    const double time = board.times[static_cast<std::size_t>(issuer)][which][static_cast<std::size_t>(repetition)];
    result = own ? result + time / board.issuers : std::max(result, time);
  }
  return result;
}

/// 5, 25, 50, 75 and 95 % of the repetitions.
Json quantiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Json all = Json::array();
  for (const double part : {0.05, 0.25, 0.5, 0.75, 0.95})
    all.push_back(values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)]);
  return all;
}

Json collect(const LaunchBoard& board) {
  Json times = Json::object();
  for (int which = 0; which < kLaunchTimes; ++which) {
    std::vector<double> values;
    for (int i = 0; i < board.counts[static_cast<std::size_t>(which)]; ++i)
      values.push_back(over_issuers(board, static_cast<LaunchTime>(which), i));
    if (!values.empty()) times[kLaunchTimeNames[static_cast<std::size_t>(which)]] = quantiles(values);
  }
  return {{"status", "ok"}, {"times_s", times}};
}

/// Answers every request of the parent; the others follow through the board.
void lead(LaunchBoard& board, LaunchIssuer& issuer) {
  std::FILE* replies = fdopen(kReplyDescriptor, "w");
  if (replies == nullptr) throw std::runtime_error("the launch process is started by linkcast-bench, not by hand");
  for (std::string line; std::getline(std::cin, line);) {
    board.request = read_request(line);
    Json reply;
    try {
      board.meet();
      issuer.run();
      reply = collect(board);
    } catch (const std::exception& error) {
      board.fail(error.what());
      reply = {{"error", error.what()}};
    }
    std::fprintf(replies, "%s\n", reply.dump().c_str());
    std::fflush(replies);
    if (board.failed.load()) return;
  }
  board.request.stop = true;
  board.meet();
}

void follow(LaunchBoard& board, const std::string& library, int index, const std::vector<int>& own, int gpus) try {
  LaunchIssuer issuer(board, library, index, own, gpus);
  while (true) {
    board.meet();
    if (board.request.stop) return;
    issuer.run();
  }
} catch (const std::exception& error) {
  board.fail(error.what());
}

}  // namespace

int serve_launch(const std::string& library, const std::string& issuers, int gpus) {
  void* memory = mmap(nullptr, sizeof(LaunchBoard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory for the issuers");
  auto& board = *new (memory) LaunchBoard;
  board.issuers = issuers == "one_thread" ? 1 : gpus;
  std::vector<std::thread> threads;
  std::vector<int> own = {0};
  for (int gpu = 1; gpu < gpus; ++gpu) {
    if (issuers == "one_thread") own.push_back(gpu);
    if (issuers == "threads")
      threads.emplace_back([&board, library, gpu, gpus] { follow(board, library, gpu, {gpu}, gpus); });
    if (issuers == "processes" && fork() == 0) {  // before the first CUDA call: a fork takes no context along
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      follow(board, library, gpu, {gpu}, gpus);
      std::_Exit(0);
    }
  }
  try {
    LaunchIssuer issuer(board, library, 0, own, gpus);
    lead(board, issuer);
  } catch (const std::exception& error) {
    board.fail(error.what());
    std::cerr << "launch worker: " << error.what() << "\n";
  }
  std::fflush(nullptr);
  if (board.failed.load()) std::_Exit(1);
  for (std::thread& thread : threads) thread.join();
  while (wait(nullptr) > 0) {
  }
  std::_Exit(0);  // communicators are left to the end of the process
}
#else
int serve_launch(const std::string&, const std::string&, int) { throw std::runtime_error("built without nccl.h"); }
#endif

}  // namespace linkcast::bench
