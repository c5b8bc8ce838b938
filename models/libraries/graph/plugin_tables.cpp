// Regions of aws-ofi-nccl's tuner: data only. Left out, since their corners are not known here: Ring LL of all_gather
// and reduce_scatter with one rank a node, up to 64 KiB (P6-B200) and 144 KiB (P6-B300) at 2 to 12 ranks.
#include "models/libraries/graph/plugin_regions.hpp"

namespace linkcast::graph {
namespace {

PluginRegion band(std::string_view algorithm, std::string_view protocol, std::string_view from, std::string_view to) {
  return {algorithm, protocol, from, to};
}
PluginRegion patch(std::string_view algorithm, std::string_view protocol, std::string_view corners) {
  return {algorithm, protocol, {}, {}, corners};
}

// source of all figures: aws/aws-ofi-nccl, src/tuner/nccl_ofi_regions.cpp

std::vector<PluginTable> eight_all_reduce() {
  constexpr std::string_view kP5Tree =
      "30M,16 36M,32 112M,64 288M,128 288M,256 320M,512 512M,1024 384M,2048 384M,4096 ->";
  constexpr std::string_view kP5enLines = "12.5M,16 123.5M,127 208M,1024 ->",
                             kP5enMulticast = "100G,16 486M,32 7G,256 16G,448 ->";
  constexpr std::string_view kB200Lines = "4.5M,16 17.5M,32 38.5M,64 54.5M,128 69.5M,256 92.5M,1024 101.5M,2048 ->",
                             kB200Multicast = "100G,16 415M,32 1023M,64 10G,512 32G,1500 ->";
  constexpr std::string_view kB300Small = "704K,16 480K,32 416K,64 416K,256 352K,512 352K,2048 ->",
                             kB300Lines = "30M,16 52M,32 104M,64 120M,128 120M,256 176M,512 208M,1024 240M,2048 ->",
                             kB300Multicast = "100G,16 576M,32 1.875G,64 3.75G,128 9G,256 18G,512 ->";
  return {
      {"p5",
       "all_reduce",
       8,
       {band("tree", "LL128", "", kP5Tree),
        patch("ring", "LL128",
              "30M,17 1G,17 2G,64 2G,128 1.25G,160 2G,256 1.001G,256 424M,160 288M,128 112M,64 36M,32"),
        // Beyond 192 ranks its upper edge goes on as 9 GiB of 192 ranks, up to 100 GiB.
        patch("nvls_tree", "Simple",
              "2G,128 6G,128 7.5G,160 9G,192 100G,2133.33 100G,1048576 384M,1048576 384M,4096 384M,2048 512M,1024 "
              "320M,512 288M,256 296M,160 424M,160 1.001G,256 2.5G,256 2G,224 1.25G,160"),
        band("ring", "Simple", "1G,17 1.5G,32 2.5G,64 7.5G,160 9G,192 ->", "")}},
      {"p5en",
       "all_reduce",
       8,
       {band("tree", "LL", "", "192K,1 192K,2 ->"), band("tree", "LL128", "192K,1 192K,2 ->", kP5enLines),
        patch("ring", "LL128", "12.5M,16 28.5M,16 280M,32 562M,64 524M,128 123.5M,127"),
        band("nvls_tree", "Simple", kP5enLines, kP5enMulticast), band("ring", "Simple", kP5enMulticast, "")}},
      {"p6_b200",
       "all_reduce",
       8,
       {band("tree", "LL", "", "384K,1 384K,2 ->"), band("tree", "LL128", "384K,1 384K,2 ->", kB200Lines),
        patch("ring", "LL128", "17.5M,32 127.5M,32 114.5M,64 86.5M,128 48.5M,64"),
        band("nvls_tree", "Simple", kB200Lines, kB200Multicast), band("ring", "Simple", kB200Multicast, "")}},
      {"p6_b300",
       "all_reduce",
       8,
       {band("tree", "LL", "", kB300Small), band("tree", "LL128", kB300Small, kB300Lines),
        patch("ring", "LL128", "30M,16 60M,16 576M,32 960M,64 960M,128 352M,128 104M,64 52M,32"),
        band("nvls_tree", "Simple", kB300Lines, kB300Multicast), band("ring", "Simple", kB300Multicast, "")}},
  };
}

PluginTable three_bands(std::string_view tuner, std::string_view operation, int ranks_per_node,
                        const PluginRegion& first, std::string_view first_to, std::string_view lines_to) {
  return {tuner,
          operation,
          ranks_per_node,
          {band(first.algorithm, first.protocol, "", first_to), band("ring", "LL128", first_to, lines_to),
           band("ring", "Simple", lines_to, "")}};
}

std::vector<PluginTable> eight_of_parts() {
  const PluginRegion small{"ring", "LL"};
  constexpr std::string_view kB300 = "1.625M,16 208M,2048 ->";
  return {
      three_bands("p5en", "all_gather", 8, small, "768K,16 4.5M,128 13M,384 19M,512 27M,768 32M,1024 ->",
                  "226M,16 472M,32 912M,64 6.75G,384 16G,896 ->"),
      three_bands("p5en", "reduce_scatter", 8, small, "768K,16 4.5M,128 7M,256 18M,512 ->",
                  "278M,16 562M,32 2.25G,128 6.75G,256 16G,640 ->"),
      three_bands("p6_b200", "all_gather", 8, small,
                  "768K,16 1.5M,32 2.5M,64 4.5M,128 16.5M,256 71.5M,1024 203.5M,2048 ->",
                  "189.5M,16 435M,32 831M,64 7.75G,512 30G,2048 ->"),
      three_bands("p6_b200", "reduce_scatter", 8, small,
                  "768K,16 1.5M,32 2.5M,64 4.5M,128 16.5M,256 33.5M,512 70.5M,1024 199.5M,2048 ->",
                  "209.5M,16 485M,32 565M,64 4G,256 8G,512 ->"),
      three_bands("p6_b300", "all_gather", 8, small, kB300, "416M,16 26G,1024 ->"),
      three_bands("p6_b300", "reduce_scatter", 8, small, kB300,
                  "288M,16 704M,32 1.125G,64 3.25G,128 6.5G,256 13G,512 26G,1024 ->"),
  };
}

PluginTable two_all_reduce() {
  constexpr std::string_view kTreeTo = "1.254M,4 1.003M,8 1.003M,12 2.258M,16 5.27M,32 9.034M,64 84.1M,128 170M,256 ->";
  return {
      "p5",
      "all_reduce",
      2,
      {band("tree", "LL128", "", kTreeTo), band("ring", "LL128", kTreeTo, "18.8M,4 39.9M,8 283M,64 245M,128 257M,256"),
       patch("nvls_tree", "Simple", "18.8M,4 78M,4 263M,8 263M,48 283M,64 39.9M,8"),
       patch("ring", "Simple", "78M,5 100G,5 100G,32 1G,40 1G,128 751M,128 283M,64 263M,48 263M,8"),
       band("tree", "Simple", "283M,64 245M,128 257M,256 ->", "283M,64 751M,128 1G,256 ->"),
       // Its lower edge goes on with its last line, up to 2^20 ranks.
       patch("nvls_tree", "Simple", "100G,32 1G,40 1G,128 751M,128 1G,256 41.3G,1048576 100G,1048576")}};
}

std::vector<PluginTable> one_all_reduce() {
  constexpr std::string_view kP5To = "4.5M,2 257M,128 ->", kP5enTo = "6M,2 48M,16 288M,128 ->",
                             kB300To = "3.25M,2 13M,4 30M,8 72M,16 144M,32 288M,64 576M,128";
  constexpr std::string_view kB300Lines = "288K,2 704K,4 1.125M,8 1.375M,16 1.375M,256 ->";
  return {
      {"p5",
       "all_reduce",
       1,
       {band("tree", "LL128", "", "2.258M,16 9.54M,64 114M,128 ->"), band("ring", "LL128", "", kP5To),
        band("ring", "Simple", kP5To, "")}},
      {"p5en",
       "all_reduce",
       1,
       {band("tree", "LL", "", "64K,1 64K,2 ->"),
        band("tree", "LL128", "64K,1 64K,2 ->", "256K,2 1M,4 4M,8 16M,16 32M,32 1M,32 1M,96 ->"),
        band("tree", "Simple", "1M,32 1M,96 ->", "32M,32 32M,128 ->"), band("ring", "LL128", "64K,1 64K,2 ->", kP5enTo),
        band("ring", "Simple", kP5enTo, "")}},
      {"p6_b200",
       "all_reduce",
       1,
       {band("tree", "LL", "", "32K,1 32K,2 ->"), band("tree", "LL128", "32K,1 32K,2 ->", "128K,2 8M,128 8G,131072"),
        patch("ring", "LL128", "128K,2 3M,48 20M,48 157M,128 100G,59831 100G,45916 284M,128 3M,2"),
        patch("tree", "Simple", "3M,48 8G,131072 100G,131072 100G,59831 157M,128 20M,48"),
        band("ring", "Simple", "3M,2 284M,128 100G,45916", "")}},
      {"p6_b300",
       "all_reduce",
       1,
       {band("tree", "LL", "", "64K,1 64K,2 ->"), band("tree", "LL128", "64K,1 64K,2 ->", kB300Lines),
        band("tree", "Simple", "1.125M,8 1.375M,16 1.375M,256 ->",
             "2.25M,8 4.5M,16 72M,32 208M,64 480M,128 1.375G,256 ->"),
        band("ring", "LL128", kB300Lines, kB300To), band("ring", "Simple", kB300To, "")}},
  };
}

std::vector<PluginTable> one_of_parts() {
  const PluginRegion pat{"pat", "Simple"};
  constexpr std::string_view kP5en = "4M,2 48M,16 288M,128 ->";
  return {
      {"p5", "all_gather", 1, {band("ring", "Simple", "4M,2 8G,2048 ->", "")}},
      {"p5", "reduce_scatter", 1, {band("ring", "Simple", "8M,2 4G,1024 ->", "")}},
      three_bands("p5en", "all_gather", 1, pat, "1M,2 8M,8 16M,16 16M,32 48M,64 112M,128 ->", kP5en),
      three_bands("p5en", "reduce_scatter", 1, pat, "1M,2 16M,32 48M,64 112M,128 ->", kP5en),
      three_bands("p6_b200", "all_gather", 1, pat, "64K,4 1M,4 4M,16 12M,48 84M,48 237M,128 32G,17137",
                  "2M,2 16M,8 278M,128 32G,15008"),
      {"p6_b200",
       "reduce_scatter",
       1,
       {band("pat", "Simple", "", "64K,4 1M,4 3.19M,8 18.2M,16 64M,48 102M,48 256G,121928"),
        band("ring", "LL128", "64K,4 1M,4 3.19M,8 18.2M,16 64M,48 102M,48", "2M,2 16M,8 102M,48"),
        band("ring", "Simple", "2M,2 16M,8 102M,48 256G,121928", "")}},
      three_bands("p6_b300", "all_gather", 1, pat, "144K,2 288K,4 4.5M,8 9M,16 72M,32 208M,64 352M,128 704M,256 ->",
                  "5.5M,2 15M,4 36M,8 72M,16 144M,32 288M,64 576M,128 1.125G,256 ->"),
      three_bands("p6_b300", "reduce_scatter", 1, pat,
                  "44K,2 2.25M,4 4.5M,8 64M,16 88M,32 208M,64 480M,128 960M,256 ->",
                  "3.75M,2 11M,4 30M,8 72M,16 144M,32 288M,64 576M,128 1.125G,256 ->"),
  };
}

}  // namespace

const std::vector<PluginTable>& plugin_tables() {
  static const std::vector<PluginTable> all = [] {
    std::vector<PluginTable> tables;
    for (std::vector<PluginTable>& some :
         std::vector{eight_all_reduce(), eight_of_parts(), {two_all_reduce()}, one_all_reduce(), one_of_parts()})
      tables.insert(tables.end(), some.begin(), some.end());
    return tables;
  }();
  return all;
}

}  // namespace linkcast::graph
