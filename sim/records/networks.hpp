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
  bool gpudirect = true;                        ///< adapters access GPU memory
  bool one_adapter = false;                     ///< of a node, where nothing is said
  std::string_view source = "";
};

inline constexpr std::string_view kInfinibandSource =
    "NVIDIA Quantum data sheets: rate a port, switch 130 ns; costs of messages and steps as on any InfiniBand here";
inline constexpr std::string_view kRoceSource =
    "NVIDIA Spectrum data sheets: rate a port, switch 300 to 800 ns; costs of messages and steps as of InfiniBand";
inline constexpr std::string_view kEfaSource =
    "AWS instance types: rate of a GPU's adapters together; aws-ofi-nccl v1.21: 18 to 20 us a step in its own model, 3 "
    "us more in Simple, 75 or 35 us reported to NCCL; messages of EFA take about 15 us (AWS HPC blog, 2020)";
inline constexpr std::string_view kSlingshotSource =
    "HPE Slingshot: 200 Gb/s a port, 350 ns a switch (De Sensi et al., SC20); proxy and steps as fitted to Alps "
    "(models/params/alps.json)";
inline constexpr std::string_view kTcpSource =
    "4 to 6 GB/s a node on 100 Gb/s (NVIDIA/nccl issue 450), 5.4 GB/s on 4 x 200 Gb/s (CSCS, NCCL without plug-in); "
    "steps assumed: several times those of RDMA";
inline constexpr std::string_view kTcpxoSource =
    "Google A3 Mega: 8 x 200 Gb/s, Simple alone in the published job scripts; steps assumed between those of EFA and "
    "TCP";

// source: the last column
inline constexpr std::array kNetworks = {
    Network{.name = "ib_edr", .cable = "ib_edr", .port_Bps = 12.5e9, .switch_s = 130e-9, .source = kInfinibandSource},
    Network{.name = "ib_hdr", .cable = "ib_hdr", .port_Bps = 25e9, .switch_s = 130e-9, .source = kInfinibandSource},
    Network{.name = "ib_ndr", .cable = "ib_ndr", .port_Bps = 50e9, .switch_s = 130e-9, .source = kInfinibandSource},
    Network{.name = "ib_xdr", .cable = "ib_xdr", .port_Bps = 100e9, .switch_s = 130e-9, .source = kInfinibandSource},
    Network{.name = "roce_100", .cable = "roce_100", .port_Bps = 12.5e9, .switch_s = 800e-9, .source = kRoceSource},
    Network{.name = "roce_200", .cable = "roce_200", .port_Bps = 25e9, .switch_s = 800e-9, .source = kRoceSource},
    Network{.name = "roce_400", .cable = "roce_400", .port_Bps = 50e9, .switch_s = 800e-9, .source = kRoceSource},
    Network{.name = "roce_800", .cable = "roce_800", .port_Bps = 100e9, .switch_s = 800e-9, .source = kRoceSource},
    Network{.name = "efa_p4d",
            .gpu = "A100",
            .cable = "efa_100",
            .port_Bps = 12.5e9,
            .switch_s = 500e-9,
            .message_s = {17e-6, 0.25},
            .host_message_s = {15.5e-6, 0.2},
            .hop_s = {20e-6, 0.3},
            .simple_hop_s = {23e-6, 0.3},
            .reported_s = 75e-6,
            .without = "LL LL128",
            .source = kEfaSource},
    Network{.name = "efa_p5",
            .gpu = "H100",
            .cable = "efa_400",
            .port_Bps = 50e9,
            .switch_s = 500e-9,
            .message_s = {17e-6, 0.25},
            .host_message_s = {15.5e-6, 0.2},
            .hop_s = {20e-6, 0.3},
            .simple_hop_s = {23e-6, 0.3},
            .reported_s = 75e-6,
            .source = kEfaSource},
    Network{.name = "efa_p5en",
            .gpu = "H200",
            .cable = "efa_400",
            .port_Bps = 50e9,
            .switch_s = 500e-9,
            .message_s = {15e-6, 0.3},
            .host_message_s = {13e-6, 0.3},
            .hop_s = {18e-6, 0.3},
            .simple_hop_s = {21e-6, 0.3},
            .reported_s = 35e-6,
            .source = kEfaSource},
    Network{.name = "efa_p6_b200",
            .gpu = "B200",
            .cable = "efa_400",
            .port_Bps = 50e9,
            .switch_s = 500e-9,
            .message_s = {15e-6, 0.3},
            .host_message_s = {13e-6, 0.3},
            .hop_s = {18e-6, 0.3},
            .simple_hop_s = {21e-6, 0.3},
            .reported_s = 35e-6,
            .source = kEfaSource},
    Network{.name = "efa_p6_b300",
            .gpu = "B300",
            .cable = "efa_800",
            .port_Bps = 100e9,
            .switch_s = 500e-9,
            .message_s = {15e-6, 0.3},
            .host_message_s = {13e-6, 0.3},
            .hop_s = {18e-6, 0.3},
            .simple_hop_s = {21e-6, 0.3},
            .reported_s = 35e-6,
            .source = kEfaSource},
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
            .without = "LL LL128",
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
