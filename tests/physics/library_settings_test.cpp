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
      {{{"NCCL_PXN_DISABLE", "1"}}, {{"pxn", false}}}};
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
  CHECK(error({{"NCCL_BUFFSIZE", "1"}}).find("/nccl_env/NCCL_BUFFSIZE: is not modelled") != std::string::npos);
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
