#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "calibrate/bench/nccl_worker.hpp"

namespace linkcast::bench {
namespace {

constexpr int kReplyDescriptor = 3;
constexpr int kPatienceMs = 90'000;  // first use of a communicator takes seconds

std::vector<std::string> child_environment(const NcclWorker::Settings& settings) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool ours = text.rfind("NCCL_", 0) == 0 || text.rfind("CUDA_MODULE_LOADING=", 0) == 0;
    if (!ours || text.rfind("NCCL_SOCKET_IFNAME=", 0) == 0) variables.push_back(text);
  }
  variables.emplace_back("NCCL_NVLS_ENABLE=0");
  for (const auto& [name, value] : settings) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

pid_t spawn(std::vector<std::string> arguments, const NcclWorker::Settings& settings, int input, int output) {
  arguments.insert(arguments.begin(), "linkcast-bench");
  auto variables = child_environment(settings);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);  // NCCL logs to standard output
  posix_spawn_file_actions_adddup2(&actions, output, kReplyDescriptor);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // Ctrl-C reaches the parent, which ends the child
  pid_t child = -1;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, &attributes, pointers(arguments).data(),
                                pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw Waived(std::string("cannot start the NCCL process: ") + std::strerror(error));
  return child;
}

}  // namespace

NcclWorker::NcclWorker(const std::string& library, const Settings& settings)
    : NcclWorker(std::vector<std::string>{kWorkerFlag, library}, settings) {}

NcclWorker::NcclWorker(const std::vector<std::string>& arguments, const Settings& settings) {
  std::array<int, 2> requests{}, replies{};
  if (pipe2(requests.data(), O_CLOEXEC) != 0 || pipe2(replies.data(), O_CLOEXEC) != 0)
    throw Waived("no pipe to the NCCL process");
  // dup2 onto the same number would keep close-on-exec: move the reply end away from the target number.
  const int output = fcntl(replies[1], F_DUPFD_CLOEXEC, kReplyDescriptor + 1);
  child_ = spawn(arguments, settings, requests[0], output);
  close(requests[0]);
  close(replies[1]);
  close(output);
  to_child_ = requests[1];
  from_child_ = replies[0];
}

NcclWorker::~NcclWorker() { stop(); }

void NcclWorker::stop() {
  if (to_child_ >= 0) close(to_child_);  // end of input: the child leaves by itself
  to_child_ = -1;
  if (child_ > 0) {
    constexpr useconds_t kStep_us = 10'000;
    int status = 0;
    for (int step = 0; step < 500 && waitpid(child_, &status, WNOHANG) == 0; ++step) usleep(kStep_us);
    if (waitpid(child_, &status, WNOHANG) == 0) {
      kill(child_, SIGKILL);
      waitpid(child_, &status, 0);
    }
  }
  child_ = -1;
  if (from_child_ >= 0) close(from_child_);
  from_child_ = -1;
}

std::string NcclWorker::read_line() {
  std::array<char, 4096> chunk{};
  while (unread_.find('\n') == std::string::npos) {
    pollfd ready{from_child_, POLLIN, 0};
    const int events = poll(&ready, 1, kPatienceMs);
    if (events < 0 && errno == EINTR) continue;
    if (events <= 0) {
      kill(child_, SIGKILL);
      failure_ = "the NCCL process gave no answer in 90 s";
      return "";
    }
    const ssize_t got = read(from_child_, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      failure_ = "the NCCL process ended; its messages are on standard error";
      return "";
    }
    unread_.append(chunk.data(), static_cast<std::size_t>(got));
  }
  const auto end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

Json NcclWorker::measure(const NcclRequest& request) {
  Json with = Json::array();
  for (const NcclCall& other : request.with) with.push_back({{"op", other.op}, {"gpus", other.gpus}});
  return ask({{"op", request.op},
              {"gpus", request.gpus},
              {"size_B", request.bytes},
              {"copies", request.copies},
              {"warm_up", request.effort.warm_up},
              {"min_repetitions", request.effort.min_repetitions},
              {"max_repetitions", request.effort.max_repetitions},
              {"budget_s", request.effort.budget_s},
              {"with", with}});
}

Json NcclWorker::ask(const Json& request) {
  if (!failure_.empty()) throw Waived(failure_);
  const std::string line = request.dump() + "\n";
  if (write(to_child_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    failure_ = "the NCCL process ended; its messages are on standard error";
  const Json reply = failure_.empty() ? Json::parse(read_line(), nullptr, false) : Json();
  if (!failure_.empty()) {
    stop();
    throw Waived(failure_);
  }
  if (reply.is_discarded()) throw Waived("the NCCL process answered something else than JSON");
  if (reply.contains("error")) throw Waived(reply["error"].get<std::string>());
  return reply;
}

std::optional<std::string> why_no_nccl(const Context& context) {
  if (context.gpus < 2) return "needs 2 GPUs, this machine has 1";
  if (!nccl_version(context.options.nccl)) return "no usable libnccl.so.2, or built without nccl.h (see --nccl)";
  return std::nullopt;
}

}  // namespace linkcast::bench
