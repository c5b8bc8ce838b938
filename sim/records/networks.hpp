#pragma once
// Networks that join nodes, as what-if edits name them: what a port carries, what a message waits for, and what a
// library's plug-in says and leaves out there.
#include <array>
#include <string_view>

namespace linkcast {

/// A figure and the standard error of its logarithm; 0: as everywhere.
struct NetworkFigure {
  double value = 0, spread = 0;
};

struct Network {
  std::string_view name;  ///< "efa_p5"
  std::string_view gpu =
      "";  ///< of names that begin alike the one for nodes whose GPUs' model contains this; empty: none
  std::string_view cable = "";                  ///< kind of its cables
  double port_Bps = 0;                          ///< nominal, one direction; 0: that of the adapters that are there
  double switch_s = 0;                          ///< of a message through one switch
  NetworkFigure message_s{}, host_message_s{};  ///< start-up of a message from GPU memory, and from host memory
  NetworkFigure hop_s{}, simple_hop_s{};        ///< a step of NCCL between nodes in LL and LL128, and in Simple
  NetworkFigure proxy_Bps{};                    ///< that the proxy of a GPU sends in LL
  NetworkFigure host_Bps{};                     ///< most that a node's CPUs move
  double reported_s = 0;                        ///< latency that its plug-in tells NCCL's tuner, on top of NCCL's own
  std::string_view without = "";                ///< protocols that its plug-in leaves out, blanks between
  std::string_view tuner = "";                  ///< rules by which its plug-in chooses; empty: NCCL chooses
  std::string_view buffer = "";                 ///< NCCL_BUFFSIZE that its plug-in sets; empty: none
  bool gpudirect = true;                        ///< adapters access GPU memory
  bool one_adapter = false;                     ///< of a node is in it
  std::string_view source = "";
};

inline constexpr std::string_view kInfinibandSource =
    "NVIDIA Quantum data sheets: rate a port, switch 130 ns; costs of messages and steps as on any InfiniBand here";
inline constexpr std::string_view kRoceSource =
    "NVIDIA Spectrum data sheets: rate a port, switch 300 to 800 ns; costs of messages and steps as of InfiniBand";
inline constexpr std::string_view kEfaSource =
    "AWS instance types: rate of a GPU's adapters together; aws-ofi-nccl v1.21: 18 to 20 us a step in its own model, 3 "
    "us more in Simple, 75 or 35 us reported to NCCL, NCCL_BUFFSIZE 8 MiB; messages of EFA take about 15 us (AWS HPC "
    "blog, 2020)";
inline constexpr std::string_view kSlingshotSource =
    "HPE Slingshot: 200 Gb/s a port, 350 ns a switch (De Sensi et al., SC20); proxy and steps as fitted to Alps "
    "(models/params/alps.json)";
inline constexpr std::string_view kTcpSource =
    "4 to 6 GB/s a node on 100 Gb/s (NVIDIA/nccl issue 450), 5.4 GB/s on 4 x 200 Gb/s (CSCS, NCCL without plug-in); "
    "steps assumed: several times those of RDMA";
inline constexpr std::string_view kTcpxoSource =
    "Google A3 Mega: 8 x 200 Gb/s, Simple alone, no NVLS and NCCL_BUFFSIZE 8 MiB in the published job scripts; steps "
    "assumed between those of EFA and TCP";

/// Networks of verbs cost what is assumed or measured anywhere. Their cables have their names.
constexpr Network verbs(std::string_view name, double port_Bps, double switch_s, std::string_view source) {
  return {.name = name, .gpu = {}, .cable = name, .port_Bps = port_Bps, .switch_s = switch_s, .source = source};
}
constexpr Network infiniband(std::string_view name, double port_Bps) {
  return verbs(name, port_Bps, 130e-9, kInfinibandSource);  // source: that
}
constexpr Network roce(std::string_view name, double port_Bps) {
  return verbs(name, port_Bps, 800e-9, kRoceSource);  // source: that
}

/// Costs by which generations of EFA differ.
struct EfaCosts {
  NetworkFigure message_s, host_message_s, hop_s, simple_hop_s;
  double reported_s;
};
// source: kEfaSource
inline constexpr EfaCosts kEarlyEfa{{17e-6, 0.25}, {15.5e-6, 0.2}, {20e-6, 0.3}, {23e-6, 0.3}, 75e-6};
inline constexpr EfaCosts kLateEfa{{15e-6, 0.3}, {13e-6, 0.3}, {18e-6, 0.3}, {21e-6, 0.3}, 35e-6};
constexpr Network efa(std::string_view name, std::string_view gpu, std::string_view cable, double port_Bps,
                      const EfaCosts& costs, std::string_view tuner, std::string_view without = "") {
  return {.name = name,
          .gpu = gpu,
          .cable = cable,
          .port_Bps = port_Bps,
          .switch_s = 500e-9,  // source: assumed, between InfiniBand and Ethernet
          .message_s = costs.message_s,
          .host_message_s = costs.host_message_s,
          .hop_s = costs.hop_s,
          .simple_hop_s = costs.simple_hop_s,
          .reported_s = costs.reported_s,
          .without = without,
          .tuner = tuner,
          .buffer = "8 MiB",
          .source = kEfaSource};
}

// source: the last column, or that of the function
inline constexpr std::array kNetworks = {
    infiniband("ib_edr", 12.5e9),
    infiniband("ib_hdr", 25e9),
    infiniband("ib_ndr", 50e9),
    infiniband("ib_xdr", 100e9),
    roce("roce_100", 12.5e9),
    roce("roce_200", 25e9),
    roce("roce_400", 50e9),
    roce("roce_800", 100e9),
    efa("efa_p4d", "A100", "efa_100", 12.5e9, kEarlyEfa, "", "LL LL128"),
    efa("efa_p5", "H100", "efa_400", 50e9, kEarlyEfa, "p5"),
    efa("efa_p5en", "H200", "efa_400", 50e9, kLateEfa, "p5en"),
    efa("efa_p6_b200", "B200", "efa_400", 50e9, kLateEfa, "p6_b200"),
    efa("efa_p6_b300", "B300", "efa_800", 100e9, kLateEfa, "p6_b300"),
    Network{.name = "slingshot",
            .cable = "slingshot",
            .port_Bps = 25e9,
            .switch_s = 350e-9,
            .message_s = {4.3e-6, 0.2},
            .host_message_s = {3.7e-6, 0.2},
            .hop_s = {5.5e-6, 0.2},
            .simple_hop_s = {14e-6, 0.4},
            .proxy_Bps = {0.5e9, 0.3},
            .source = kSlingshotSource},
    Network{.name = "tcpxo",
            .cable = "ethernet_200",
            .port_Bps = 25e9,
            .switch_s = 800e-9,
            .message_s = {20e-6, 0.4},
            .host_message_s = {15e-6, 0.4},
            .hop_s = {25e-6, 0.5},
            .simple_hop_s = {28e-6, 0.5},
            .without = "LL LL128 NVLS",
            .tuner = "unknown",
            .buffer = "8 MiB",
            .source = kTcpxoSource},
    Network{.name = "tcp",
            .cable = "ethernet",
            .switch_s = 800e-9,
            .message_s = {25e-6, 0.4},
            .host_message_s = {18e-6, 0.4},
            .hop_s = {40e-6, 0.4},
            .simple_hop_s = {45e-6, 0.4},
            .host_Bps = {5e9, 0.25},
            .gpudirect = false,
            .one_adapter = true,
            .source = kTcpSource},
};

}  // namespace linkcast
