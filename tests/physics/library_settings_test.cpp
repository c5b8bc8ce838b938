// NCCL's environment says what other keys say, and what it leaves out does not run.
#include "sim/query/nccl_environment.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"

namespace linkcast::test::library_settings_test {

namespace {

Json request(const Json& more, double size_B = 1048576) {
  Json all{{"platform", "hgx-h100"}, {"kind", "collective"},  {"op", "all_reduce"}, {"size_B", size_B}, {"nodes", 2},
           {"gpus_per_node", 8},     {"library", "nccl-2.27"}};
  all.update(more);
  return all;
}

/// An answer without what tells how it was asked.
Json bare(Json answer) {
  answer.erase("inputs");
  return answer;
}

std::string error(const Json& environment, const Json& more = Json::object()) {
  Json all = request({{"nccl_env", environment}});
  all.update(more);
  return query::answer(catalogue(), all).value("error", "");
}

}  // namespace

TEST_CASE("settings: a variable is the key that says the same", "[physics][settings]") {
  const std::vector<std::pair<Json, Json>> same = {
      {{{"NCCL_PROTO", "Simple"}}, {{"protocol", "Simple"}}},
      {{{"NCCL_ALGO", "Ring"}, {"NCCL_PROTO", "ll128"}}, {{"algorithm", "ring"}, {"protocol", "LL128"}}},
      {{{"NCCL_PROTO", "^LL"}}, {{"without", {"LL"}}}},
      {{{"NCCL_ALGO", "Tree,Ring"}}, {{"without", {"collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"}}}},
      {{{"NCCL_ALGO", "^NVLSTree"}, {"NCCL_PROTO", "LL128,Simple"}}, {{"without", {"nvls_tree", "LL"}}}},
      {{{"NCCL_MIN_NCHANNELS", "8"}, {"NCCL_MAX_NCHANNELS", "8"}}, {{"channels", 8}}},
      {{{"NCCL_MAX_CTAS", "4"}}, {{"most_channels", 4}}},
      {{{"NCCL_MIN_NCHANNELS", "32"}}, {{"least_channels", 32}}},
      {{{"NCCL_NVLS_ENABLE", "0"}}, {{"nvls", false}}},
      {{{"NCCL_NVLS_ENABLE", "2"}}, {{"nvls", true}}},
      {{{"NCCL_PXN_DISABLE", "1"}}, {{"pxn", false}}},
      {{{"NCCL_CROSS_NIC", "0"}}, {{"cross_nic", 0}}},
      {{{"NCCL_NET_GDR_LEVEL", "LOC"}}, {{"gdr_level", "LOC"}}},
      {{{"NCCL_BUFFSIZE", "1048576"}, {"NCCL_LL128_BUFFSIZE", "1228800"}},
       {{"buffer_B", 1048576}, {"ll128_buffer_B", 1228800}}},
      {{{"NCCL_LL_BUFFSIZE", "131072"}}, {{"ll_buffer_B", 131072}}},
      {{{"NCCL_SHM_DISABLE", "1"}}, {{"shm", false}}},
      {{{"NCCL_IB_DISABLE", "1"}}, {{"edits", {"network tcp"}}}},
      {{{"NCCL_IB_QPS_PER_CONNECTION", "4"}}, {{"edits", {"fabric rail_optimized:flows=4"}}}}};
  for (const auto& [environment, keys] : same)
    for (const double size_B : {8192.0, 1048576.0, 67108864.0}) {
      INFO(environment.dump() << " of " << size_B);
      CHECK(bare(ask(request({{"nccl_env", environment}}, size_B))) == bare(ask(request(keys, size_B))));
    }
  const Json one{{"platform", "hgx-h100"}, {"kind", "collective"}, {"op", "all_reduce"},
                 {"size_B", 1048576},      {"gpus", {0, 1}},       {"library", "nccl-2.27"}};
  for (const auto& [environment, level] :
       {std::pair<Json, std::string>{{{"NCCL_P2P_DISABLE", "1"}}, "LOC"}, {{{"NCCL_P2P_LEVEL", "SYS"}}, "SYS"}}) {
    Json by_environment = one, by_key = one;
    by_environment["nccl_env"] = environment;
    by_key["p2p_level"] = level;
    CHECK(bare(ask(by_environment)) == bare(ask(by_key)));
  }
}

TEST_CASE("settings: what is left out does not run, and channels keep their ends", "[physics][settings]") {
  for (double size_B = 1024; size_B < 1e9; size_B *= 4) {
    INFO(size_B);
    const Json without = ask(request({{"without", {"LL", "nvls_tree"}}, {"alternatives", true}}, size_B));
    REQUIRE_FALSE(without.contains("error"));
    CHECK(without["protocol"] != "LL");
    CHECK(without["algorithm"] != "nvls_tree");
    for (const Json& other : without["alternatives"])
      CHECK((other["protocol"] != "LL" && other["algorithm"] != "nvls_tree"));
    CHECK(ask(request({{"most_channels", 4}, {"without", {"nvls_tree"}}}, size_B))["blocks"] <= 4);
    const Json plain = ask(request(Json::object(), size_B)),
               more = ask(request({{"least_channels", 32}, {"without", {"nvls_tree"}}}, size_B));
    CHECK(plain["blocks"].get<int>() <= 16);
    if (size_B > 1e8) CHECK(more["blocks"] == 32);
  }
}

TEST_CASE("settings: nothing is guessed", "[physics][settings]") {
  CHECK(error({{"NCCL_NTHREADS", "256"}}).find("/nccl_env/NCCL_NTHREADS: is not modelled: rates of thread blocks") !=
        std::string::npos);
  CHECK(error({{"NCCL_MADE_UP", "1"}}).find("/nccl_env/NCCL_MADE_UP: is not modelled") != std::string::npos);
  CHECK(error({{"NCCL_BUFFSIZE", "1"}}).find("buffer_B: must be at least 65536") != std::string::npos);
  CHECK(error({{"NCCL_BUFFSIZE", "4M"}}).find("'4M' is no number of bytes") != std::string::npos);
  CHECK(error({{"NCCL_BUFFSIZE", "1048576"}}, {{"buffer_B", 1048576}}).find("the key buffer_B says it too") !=
        std::string::npos);
  CHECK(error({{"NCCL_CROSS_NIC", "3"}}).find("'3' is none of 0, 1, 2") != std::string::npos);
  CHECK(error({{"NCCL_NET_GDR_LEVEL", "3"}}).find("'3' is none of LOC, NVL") != std::string::npos);
  CHECK(error({{"NCCL_IB_QPS_PER_CONNECTION", "0"}}) != "");
  CHECK(error({{"NCCL_IB_QPS_PER_CONNECTION", "4x"}}) != "");
  CHECK(error({{"OFI_NCCL_TUNER_TYPE", "MODEL"}}).find("'MODEL' is not modelled") != std::string::npos);
  CHECK(error({{"NCCL_TUNER_PLUGIN", "mine.so"}}).find("'mine.so' is not modelled") != std::string::npos);
  CHECK(error({{"NCCL_PROTO", "LLX"}}).find("/nccl_env/NCCL_PROTO: 'LLX' is none of") != std::string::npos);
  CHECK(error({{"NCCL_ALGO", ""}}).find("/nccl_env/NCCL_ALGO") != std::string::npos);
  CHECK(error({{"NCCL_PROTO", "^"}}).find("/nccl_env/NCCL_PROTO") != std::string::npos);
  CHECK(error({{"NCCL_MAX_NCHANNELS", "x"}}).find("'x' is no number of channels") != std::string::npos);
  CHECK(error({{"NCCL_NVLS_ENABLE", "yes"}}).find("neither 0 nor 1") != std::string::npos);
  CHECK(error({{"NCCL_PROTO", 1}}).find("must be a text") != std::string::npos);
  CHECK(error("NCCL_PROTO=LL").find("/nccl_env: must be an object") != std::string::npos);
  CHECK(error({{"NCCL_PROTO", "LL"}}, {{"protocol", "LL"}}).find("the key protocol says it too") != std::string::npos);
  for (const char* key : {"channels", "least_channels", "most_channels"})
    CHECK(error({{"NCCL_MAX_NCHANNELS", "2"}}, {{key, 4}}).find("says it too") != std::string::npos);
  CHECK(error({{"NCCL_MIN_NCHANNELS", "2"}, {"NCCL_MIN_CTAS", "16"}}).find("says it too") != std::string::npos);
  CHECK(error({{"NCCL_MIN_NCHANNELS", "16"}, {"NCCL_MAX_NCHANNELS", "8"}}).find("above the most") != std::string::npos);
  CHECK(error({{"NCCL_PROTO", "LL,"}}).find("ends with a comma") != std::string::npos);
  CHECK(error({{"NCCL_DEBUG", "INFO"}}, {{"library", "mpi-openmpi"}}).find("/nccl_env: is of NCCL") !=
        std::string::npos);
  CHECK(error({{"NCCL_TOPO_FILE", "x"}}).find("is the key library_topology") != std::string::npos);
  CHECK(error({{"NCCL_PROTO", "^LL,LL128,Simple"}}).find("without LL, LL128, Simple") != std::string::npos);
  CHECK(ask(request({{"nccl_env", {{"NCCL_DEBUG", "INFO"}}}}))["warnings"].back() ==
        "nccl_env: no forecast depends on NCCL_DEBUG");
  CHECK(query::nccl_environment_of("NCCL_ALGO=Ring,Tree,NCCL_PROTO=^LL", "x") ==
        Json{{"NCCL_ALGO", "Ring,Tree"}, {"NCCL_PROTO", "^LL"}});
  for (const char* text : {"", "LL", "FOO=1", "NCCL_PROTO=LL,NCCL_PROTO=LL", "NCCL_PROTO=LL,"})
    CHECK_FALSE(error_of([&] { query::nccl_environment_of(text, "--nccl-env"); }).empty());
}

TEST_CASE("settings: variables of the network change nothing in one node, nor QPs where nothing is hashed",
          "[physics][settings]") {
  const Json between = {
      {"NCCL_CROSS_NIC", "0"},  {"NCCL_NET_GDR_LEVEL", "SYS"},       {"NCCL_PXN_DISABLE", "1"},
      {"NCCL_IB_DISABLE", "1"}, {"NCCL_IB_QPS_PER_CONNECTION", "8"}, {"NCCL_NCHANNELS_PER_NET_PEER", "1"}};
  Json one = request({{"gpus", {0, 1, 2, 3, 4, 5, 6, 7}}});
  one.erase("nodes"), one.erase("gpus_per_node");
  Json with = one;
  with["nccl_env"] = between;
  const Json answer = ask(with);
  CHECK(answer["time_s"] == ask(one)["time_s"]);
  for (const auto& [name, value] : between.items())
    CHECK(answer["warnings"].back().get<std::string>().find(name) != std::string::npos);
  const Json alps{{"platform", "alps"}, {"kind", "collective"}, {"op", "all_reduce"},
                  {"size_B", 1048576},  {"nodes", 4},           {"gpus_per_node", 4}};
  Json set = alps;
  set["nccl_env"] = {{"NCCL_IB_QPS_PER_CONNECTION", "8"}, {"NCCL_IB_DISABLE", "1"}};
  CHECK(ask(set)["time_s"] == ask(alps)["time_s"]);
  CHECK(ask(set)["warnings"].dump().find("neither InfiniBand nor RoCE") != std::string::npos);
}

TEST_CASE("settings: a buffer that bytes wait for sets their rate", "[physics][settings]") {
  // One channel, few bytes in flight over the round trip: twice the buffer is half the time.
  for (const char* platform : {"hgx-h100", "dgx-a100"}) {
    const auto moving_s = [&](int buffer_B) {
      const Json answer = ask({{"platform", platform},
                               {"kind", "collective"},
                               {"op", "all_gather"},
                               {"size_B", 268435456},
                               {"gpus", {0, 1, 2, 3}},
                               {"library", "nccl-2.27"},
                               {"algorithm", "ring"},
                               {"protocol", "Simple"},
                               {"channels", 1},
                               {"launch", "graph"},
                               {"buffer_B", buffer_B}});
      return answer["time_s"].get<double>() - answer["latency_s"].get<double>();
    };
    INFO(platform);
    CHECK(moving_s(65536) / moving_s(131072) == Approx(2).epsilon(0.02));
    CHECK(moving_s(65536) > moving_s(4194304));
  }
}

TEST_CASE("settings: trees between nodes pass on whole steps, so that larger ones fill longer", "[physics][settings]") {
  const auto time_s = [](const Json& more) {
    Json all = request({{"algorithm", "tree"}, {"protocol", "Simple"}, {"nodes", 8}}, 16777216);
    all.update(more);
    return ask(all)["time_s"].get<double>();
  };
  const double own_s = time_s(Json::object());
  CHECK(time_s({{"buffer_B", 4194304}}) == Approx(own_s).epsilon(1e-9));
  CHECK(time_s({{"buffer_B", 8388608}}) > 1.02 * own_s);
  CHECK(time_s({{"buffer_B", 2097152}}) < 0.98 * own_s);
}

TEST_CASE("settings: with NCCL_CROSS_NIC=0 a ring leaves by the NIC that it came in by", "[physics][settings]") {
  int crossing = 0;
  for (const char* platform : {"hgx-h100", "abci-a100", "leonardo", "dgx2", "alps", "summit"}) {
    const auto rings = [&](int cross_nic) {
      return ask({{"platform", platform},
                  {"kind", "rings"},
                  {"nodes", 2},
                  {"library", "nccl-2.27"},
                  {"cross_nic", cross_nic}});
    };
    INFO(platform);
    const Json same = rings(0), any = rings(1);
    for (const Json& ring : same["nics"]) CHECK(ring["in"]["nic"] == ring["out"]["nic"]);
    CHECK_FALSE(any["swaps_rings"].get<bool>());
    for (const Json& ring : any["nics"]) crossing += ring["in"]["nic"] != ring["out"]["nic"] ? 1 : 0;
  }
  CHECK(crossing > 0);
}

TEST_CASE("settings: NCCL_NET_GDR_LEVEL=LOC is a machine whose NICs do not access GPU memory", "[physics][settings]") {
  for (const char* platform : {"hgx-h100", "dgx-a100", "leonardo"})
    for (const double size_B : {8192.0, 67108864.0}) {
      const Json base{{"platform", platform}, {"kind", "collective"}, {"op", "all_reduce"},    {"size_B", size_B},
                      {"nodes", 2},           {"gpus_per_node", 4},   {"library", "nccl-2.27"}};
      Json level = base, edit = base;
      level["gdr_level"] = "LOC";
      edit["edits"] = {"disable gpudirect"};
      INFO(platform << " " << size_B);
      CHECK(ask(level)["time_s"] == ask(edit)["time_s"]);
    }
}

TEST_CASE("settings: host memory that is forbidden is refused where GPUs exchange through it", "[physics][settings]") {
  Json through{{"platform", "p100-dgx1"}, {"kind", "collective"}, {"op", "all_reduce"},
               {"size_B", 1048576},       {"gpus", {0, 5}},       {"library", "nccl-2.7"}};
  through["nccl_env"] = {{"NCCL_SHM_DISABLE", "1"}};
  CHECK(query::answer(catalogue(), through).value("error", "").find("shm: GPUs of one node exchange through host") !=
        std::string::npos);
  through["gpus"] = {0, 1};
  CHECK(ask(through).contains("time_s"));
}

TEST_CASE("settings: channels of a message to another node", "[physics][settings]") {
  const auto all_to_all = [](const Json& more) {
    Json all = request({{"op", "alltoall"}}, 67108864);
    all.update(more);
    return ask(all);
  };
  CHECK(bare(all_to_all({{"nccl_env", {{"NCCL_NCHANNELS_PER_NET_PEER", "1"}}}})) ==
        bare(all_to_all({{"peer_channels", 1}})));
  CHECK(all_to_all({{"peer_channels", 1}})["time_s"].get<double>() >=
        all_to_all(Json::object())["time_s"].get<double>());
}

TEST_CASE("settings: where nothing reads them they are refused", "[physics][settings]") {
  const Json limits[] = {{{"most_channels", 1}}, {{"least_channels", 8}}, {{"without", {"LL"}}}};
  const Json homes[] = {{{"library", "nccl-2.3"}},
                        {{"op", "alltoall"}},
                        {{"nodes", 1}, {"gpus", {0, 1, 2, 3, 4, 5, 6, 7}}, {"library", "vllm"}}};
  for (const Json& home : homes)
    for (const Json& limit : limits) {
      Json all = request(home);
      if (home.contains("gpus")) all.erase("nodes"), all.erase("gpus_per_node");
      all.update(limit);
      INFO(all.dump());
      const std::string key = limit.begin().key();
      CHECK(query::answer(catalogue(), all).value("error", "").find("/" + key + ": is of ") != std::string::npos);
    }
  Json nvls = request({{"gpus", {0, 1, 2, 3, 4, 5, 6, 7}}, {"algorithm", "nvls"}, {"most_channels", 2}}, 268435456);
  nvls.erase("nodes"), nvls.erase("gpus_per_node");
  CHECK(ask(nvls)["warnings"].dump().find("NVLS has its own number of thread blocks") != std::string::npos);
}

}  // namespace linkcast::test::library_settings_test
