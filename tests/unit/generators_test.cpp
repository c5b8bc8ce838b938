// What generators of applications write: sizes that papers print or formulae give, and messages that match.
#include <cmath>
#include <map>
#include <tuple>

#include "apps-traces/generators/cnn_networks.hpp"
#include "apps-traces/generators/transformer_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/generated_trace.hpp"

namespace linkcast::test::generators_test {

namespace {

constexpr double kRounding = 1e-12;

}  // namespace

TEST_CASE("AlexNet has the parameters and activations of paper 003", "[unit]") {
  const Cnn net = alexnet();
  CHECK(net.parameters() == 60965224);  // of bvlc_alexnet, as Caffe prints it; the paper: 60 million
  CHECK_THAT(net.activations() / 1.4e6, WithinRel(1.0, 0.02));
  CHECK_THAT(256 * net.activations() / net.parameters(), WithinAbs(5.9, 0.05));  // section 4.3, as printed
  CHECK_THAT(512 * net.activations() / net.parameters(), WithinAbs(11.9, 0.05));
}

TEST_CASE("GoogLeNet has its published parameters, and is reduced as paper 003 prints", "[unit]") {
  const Cnn net = googlenet();
  CHECK(net.parameters() == 6998552);                             // of bvlc_googlenet without auxiliary classifiers
  CHECK_THAT(net.multiply_adds() / 1.5e9, WithinRel(1.0, 0.06));  // Szegedy et al., section 5: 1.5 billion
  CHECK(4 * net.printed_parameters == 22e6);                      // paper 003, section 4.2
}

TEST_CASE("the network of Tartan's ConvNet2: weights of local layers are not shared", "[unit]") {
  const Cnn net = cifar_local();
  // by hand: 24 x 24 images, 12 x 12 behind the first pool, 6 x 6 behind the second
  CHECK(net.parameters() == 4864 + 102464 + 36 * (36864 + 64) + 36 * (18432 + 32) + 11530);
  CHECK(net.multiply_adds() == 576 * 4800 + 144 * 102400 + 36 * 36864 + 36 * 18432 + 11520);
}

TEST_CASE("ResNet/x has the parameters and activations of paper 003 for every x", "[unit]") {
  for (const int x : {1, 2, 4, 8, 16, 32}) {
    CHECK(resnet_x(x).parameters() == 46211.0 * x + 74857);
    CHECK(resnet_x(x).activations() == 1204224.0 * x + 1155113);
  }
}

TEST_CASE("the workloads of paper 003 have the intensities it prints", "[unit]") {
  const auto intensity = [](int x, int batch) { return batch * resnet_x(x).activations() / resnet_x(x).parameters(); };
  // section 3.4: 300 to 1650 activations a parameter, 40 on one of eight GPUs
  CHECK_THAT(intensity(1, 16), WithinRel(300.0, 0.05));
  CHECK_THAT(intensity(32, 64), WithinRel(1650.0, 0.01));
  CHECK_THAT(intensity(1, 16) / 8, WithinRel(40.0, 0.03));
}

TEST_CASE("a step of training reduces four bytes a parameter, at the end or layer by layer", "[unit]") {
  const std::string reduce = GENERATE("end", "layer");
  for (const auto& [name, parameters] :
       std::vector<std::pair<std::string, double>>{{"alexnet", 60965224}, {"googlenet", 5.5e6}, {"resnet_x", 814233}}) {
    const GeneratedTrace trace(name, {{"gpus", "4"}, {"steps", "3"}, {"reduce", reduce}});
    CHECK_THAT(bytes(trace.of(0, TraceKind::kCollective)), WithinRel(3 * 4 * parameters, kRounding));
    CHECK(trace.of(0, TraceKind::kCopy).size() == 3);
  }
}

TEST_CASE("strong scaling divides images and compute, not gradients", "[unit]") {
  const GeneratedTrace two("alexnet", {{"gpus", "2"}}), eight("alexnet", {{"gpus", "8"}});
  CHECK(bytes(two.of(0, TraceKind::kCopy)) == 4 * bytes(eight.of(0, TraceKind::kCopy)));
  CHECK(bytes(two.of(0, TraceKind::kCollective)) == bytes(eight.of(0, TraceKind::kCollective)));
  CHECK(GeneratedTrace("alexnet", {{"gpus", "1"}}).of(TraceKind::kCollective).empty());
}

TEST_CASE("a half step of the spin glass sends and receives six messages of 128 KB", "[unit]") {
  const int nodes = GENERATE(2, 4, 8);
  const GeneratedTrace trace("spin_glass", {{"nodes", std::to_string(nodes)}, {"steps", "1"}});
  for (const TraceKind kind : {TraceKind::kSend, TraceKind::kRecv}) {
    const std::vector<TraceEvent> messages = trace.of(nodes - 1, kind);
    CHECK(messages.size() == 2 * 6);  // paper 004, section V-D; two half steps, of even and of odd spins
    for (const TraceEvent& message : messages) CHECK(message.size_B == 128 * 1024);
  }
  // table II: 921 ps a spin on one GPU
  const double all_s = seconds(GeneratedTrace("spin_glass", {{"nodes", "1"}, {"steps", "1"}}).of(TraceKind::kCompute));
  CHECK_THAT(all_s / (256.0 * 256 * 256), WithinRel(921e-12, kRounding));
}

TEST_CASE("the bulk of the spin glass takes what table II prints for the lattice that a GPU holds", "[unit]") {
  const auto of_spin_s = [](const std::string& side, const std::string& nodes) {
    const GeneratedTrace trace("spin_glass", {{"L", side}, {"nodes", nodes}, {"steps", "1"}});
    return seconds(trace.of(0, TraceKind::kCompute)) / std::pow(std::stod(side), 3);
  };
  CHECK_THAT(of_spin_s("256", "2"), WithinRel(416e-12, 1e-9));   // paper 004, table II
  CHECK_THAT(of_spin_s("512", "1"), WithinRel(1471e-12, 1e-9));  // section V-D
  // The same lattice on a GPU, whatever the number of GPUs: 2^24 spins. The boundary is two planes of either lattice.
  CHECK_THAT(8 * (of_spin_s("512", "8") - 5.5e-12), WithinRel(of_spin_s("256", "1") - 11e-12, 1e-9));
  CHECK(8 * of_spin_s("512", "8") < of_spin_s("512", "1"));  // the super-linear speed-up of figure 11
}

TEST_CASE("a spin glass that stages by itself copies every message down, and up when all have come", "[unit]") {
  const GeneratedTrace trace("spin_glass", {{"steps", "1"}, {"staging", "program"}});
  std::map<std::string, int> copies;
  for (const TraceEvent& copy : trace.of(1, TraceKind::kCopy)) {
    CHECK(copy.size_B == 128 * 1024);
    if (copy.op == "h2d") CHECK(copy.after.size() == 6);
    ++copies[copy.op];
  }
  CHECK(copies == std::map<std::string, int>{{"d2h", 12}, {"h2d", 12}});
  for (const TraceEvent& message : trace.of(1, TraceKind::kSend)) CHECK(message.after.size() == 1);
}

TEST_CASE("a breadth-first search sends every edge that leaves a part once from each end", "[unit]") {
  const int nodes = GENERATE(2, 4, 8);
  const GeneratedTrace trace("bfs", {{"nodes", std::to_string(nodes)}, {"searches", "1"}, {"scale", "16"}});
  double found_B = 0;
  for (const TraceEvent& event : trace.of(TraceKind::kSend))
    if (event.tag == "found") found_B += event.size_B;
  const double edges = 65536 * 16;  // Graph 500: 16 a vertex
  CHECK_THAT(found_B, WithinRel(2 * edges * 8 * (nodes - 1) / nodes, 1e-9));
  CHECK_THAT(seconds(trace.of(TraceKind::kCompute)), WithinRel(edges / 6.7e7, 1e-9));
}

TEST_CASE("the parameters of a transformer are those that Megatron-LM's table prints", "[unit]") {
  // Narayanan et al., SC 2021, table 1: 1.7, 3.6, 7.5, 18.4, 39.1, 76.1, 145.6, 310.1, 529.6, 1008 billion
  for (const auto& [billions, layers, hidden] : std::vector<std::tuple<double, int, int>>{{1.7, 24, 2304},
                                                                                          {3.6, 30, 3072},
                                                                                          {7.5, 36, 4096},
                                                                                          {18.4, 40, 6144},
                                                                                          {39.1, 48, 8192},
                                                                                          {76.1, 60, 10240},
                                                                                          {145.6, 80, 12288},
                                                                                          {310.1, 96, 16384},
                                                                                          {529.6, 105, 20480},
                                                                                          {1008, 128, 25600}}) {
    const TransformerJob job =
        transformer_job(TraceOptions({{"layers", std::to_string(layers)}, {"hidden", std::to_string(hidden)}}));
    const double parameters = layers * job.layer_parameters() + job.embedding_parameters() + job.position_parameters();
    CHECK_THAT(parameters / 1e9, WithinAbs(billions, 0.051));  // printed to 0.1
  }
}

TEST_CASE("the operations of a transformer's step are Megatron-LM's formula", "[unit]") {
  const GeneratedTrace trace("transformer",
                             {{"dp", "2"}, {"tp", "2"}, {"pp", "2"}, {"batch", "8"}, {"steps", "1"}, {"flops", "1"}});
  // Narayanan et al., SC 2021, equation 3: 96 B s l h^2 (1 + s / 6h + V / 16 l h)
  const double B = 8, s = 2048, l = 24, h = 2304, V = 51200;
  CHECK_THAT(seconds(trace.of(TraceKind::kCompute)),
             WithinRel(96 * B * s * l * h * h * (1 + s / (6 * h) + V / (16 * l * h)), 1e-9));
}

namespace {

using Message = std::tuple<int, int, std::string, double>;

/// Sends less receives, by source, target, tag and size.
std::map<Message, int> balance_of(const GeneratedTrace& trace) {
  std::map<Message, int> balance;
  for (const TraceEvent& event : trace.of(TraceKind::kSend))
    ++balance[{event.rank, event.peer, event.tag, event.size_B}];
  for (const TraceEvent& event : trace.of(TraceKind::kRecv))
    --balance[{event.peer, event.rank, event.tag, event.size_B}];
  return balance;
}

}  // namespace

TEST_CASE("every message that an application sends is received", "[unit]") {
  for (const PluginInfo& info : trace_generators().list())
    for (const auto& [message, count] : balance_of(GeneratedTrace(info.name))) {
      INFO(info.name << ", tag " << std::get<2>(message));
      CHECK(count == 0);
    }
}

TEST_CASE("Tartan's fourteen applications are there", "[unit]") {
  // paper 000, table III; PRB is Prbench
  for (const char* name :
       {"cnn", "csm", "gmm", "kmn", "mtc", "pln", "trk", "brq", "dff", "llh", "cmd", "prb", "hit", "mam"})
    CHECK_FALSE(GeneratedTrace(std::string("tartan_") + name).events.empty());
}

TEST_CASE("halos are the faces of the parts", "[unit]") {
  // 4 parts of 400^3 cells along z have 6 inner faces, each a plane of 400^2 values of 8 bytes
  const GeneratedTrace heat("tartan_dff", {{"steps", "1"}});
  CHECK(bytes(heat.of(TraceKind::kSend)) == 6 * 400.0 * 400 * 8);
  // 8 blocks of 128^3 have 3 inner faces each; two planes of 3 and of 6 fields of 4 bytes
  const GeneratedTrace waves("tartan_brq", {{"steps", "1"}, {"nodes", "8"}});
  CHECK(bytes(waves.of(TraceKind::kSend)) == 8 * 3 * 128.0 * 128 * 2 * (3 + 6) * 4);
  // weak scaling: each of 8 nodes has 256^3 cells
  const GeneratedTrace more("tartan_brq", {{"steps", "1"}, {"nodes", "8"}, {"scaling", "weak"}});
  CHECK(bytes(more.of(TraceKind::kSend)) == 4 * bytes(waves.of(TraceKind::kSend)));
  const GeneratedTrace matrices("tartan_mam", {{"steps", "1"}, {"nodes", "2"}, {"scaling", "weak"}});
  constexpr double kSide = 323;  // the cube root of 2 x 256^3 cells is 322.5 rows
  CHECK(bytes(matrices.of(0, TraceKind::kCollective)) == 3 * kSide * kSide * 8);  // scattered, broadcast, gathered
}

TEST_CASE("with NCCL a master on a GPU takes the CPU's place", "[unit]") {
  const auto copies = [](const std::string& name, const std::string& version) {
    return bytes(GeneratedTrace(name, {{"version", version}}).of(TraceKind::kCopy));
  };
  CHECK(copies("tartan_csm", "nccl") == 0);
  CHECK(copies("tartan_trk", "nccl") == 0);
  CHECK(copies("tartan_gmm", "nccl") == 0.75 * copies("tartan_gmm", "baseline"));  // half of what goes down
  CHECK(copies("tartan_mtc", "nccl") == copies("tartan_mtc", "baseline"));
  for (const char* name : {"tartan_kmn", "tartan_mtc", "tartan_pln", "tartan_trk", "tartan_csm", "tartan_gmm"})
    CHECK(bytes(GeneratedTrace(name).of(TraceKind::kCollective)) == 0);
}

TEST_CASE("a pipeline sends two messages a microbatch between stages, each with its receive", "[unit]") {
  const int pp = GENERATE(2, 4), dp = GENERATE(1, 2), tp = GENERATE(1, 2);
  const GeneratedTrace trace("transformer", {{"pp", std::to_string(pp)},
                                             {"dp", std::to_string(dp)},
                                             {"tp", std::to_string(tp)},
                                             {"batch", "16"},
                                             {"steps", "1"}});
  const std::map<Message, int> balance = balance_of(trace);
  for (const auto& [message, count] : balance) CHECK(count == 0);
  const int microbatches = 16 / dp;
  CHECK(balance.size() == static_cast<std::size_t>(2 * (pp - 1) * microbatches * dp * tp));
}

TEST_CASE("a stage of 1F1B keeps no more microbatches than stages follow", "[unit]") {
  const GeneratedTrace trace("transformer", {{"pp", "4"}, {"batch", "12"}, {"steps", "1"}});
  for (int stage = 0; stage < 4; ++stage) {
    int kept = 0, most = 0;
    for (const TraceEvent& event : trace.of(stage, TraceKind::kCompute)) {
      if (event.name == "forward") most = std::max(most, ++kept);
      if (event.name == "backward") --kept;
    }
    CHECK(kept == 0);
    CHECK(most == 4 - stage);
  }
}

TEST_CASE("tensor parallel ranks reduce four activations a layer and microbatch, six with recomputation", "[unit]") {
  for (const auto& [recompute, passes] : std::vector<std::pair<std::string, int>>{{"0", 2}, {"1", 3}}) {
    const GeneratedTrace trace("transformer", {{"tp", "2"}, {"batch", "4"}, {"steps", "1"}, {"recompute", recompute}});
    const std::vector<TraceEvent> sums = trace.of(0, TraceKind::kCollective);
    CHECK(sums.size() == static_cast<std::size_t>(2 * passes * 24 * 4));
    CHECK(sums.front().size_B == 2.0 * 2048 * 2304);
  }
}

TEST_CASE("generators refuse what is impossible, and say why", "[unit]") {
  struct Case {
    std::string application;
    std::map<std::string, std::string> options;
    std::string error;
  };
  const Case refused = GENERATE(
      Case{"alexnet", {{"batch", "100"}}, "option batch: 100 images cannot be divided among 8 GPUs"},
      Case{"alexnet", {{"reduce", "never"}}, "option reduce: 'never' is neither end nor layer"},
      Case{"alexnet", {{"x", "1"}}, "option x: alexnet takes gpus, batch, steps, reduce, launch"},
      Case{"resnet_x", {{"x", "0"}}, "option x: '0' is not a whole number of at least 1"},
      Case{"spin_glass", {{"nodes", "3"}}, "option L: 256 planes cannot be cut into 3 parts of an even number each"},
      Case{"spin_glass", {{"part", "bulk"}}, "option part: 'bulk' is neither all nor boundary"},
      Case{"tartan_csm", {{"version", "mpi"}}, "option version: 'mpi' is neither baseline nor nccl"},
      Case{"tartan_dff", {{"nodes", "3"}}, "option side: 400 cells cannot be cut into 3 parts"},
      Case{"tartan_hit", {{"scaling", "no"}}, "option scaling: 'no' is neither strong nor weak"},
      Case{"tartan_cnn", {{"gpus", "3"}}, "option batch: 128 images cannot be divided among 3 GPUs"},
      Case{"bfs", {{"teps", "0"}}, "option teps: must be positive"},
      Case{"transformer", {{"pp", "5"}}, "option layers: 24 cannot be divided by 5 (pp)"},
      Case{"transformer", {{"tp", "5"}}, "option hidden: 2304 cannot be divided by 5 (tp)"},
      Case{"transformer", {{"dp", "3"}}, "option batch: 32 cannot be divided by 3 (dp)"},
      Case{"transformer",
           {{"dp", "2"}, {"microbatch", "3"}},
           "option batch: 16 cannot be divided by 3 (microbatch, after dp)"});
  INFO(refused.application);
  CHECK_THROWS_WITH(GeneratedTrace(refused.application, refused.options), refused.error);
}

TEST_CASE("every generator says what each option is for and where the application is described", "[unit]") {
  for (const PluginInfo& info : trace_generators().list()) {
    INFO(info.name);
    CHECK_FALSE(info.source.empty());
    const GeneratedTrace trace(info.name);
    CHECK_FALSE(trace.head.source.empty());
    CHECK_FALSE(trace.head.notes.empty());
    for (const TraceOption& option : trace_generators().get(info.name).options()) CHECK_FALSE(option.text.empty());
  }
}

}  // namespace linkcast::test::generators_test
