#include "apps-traces/import/c10d_names.hpp"

#include <map>

namespace linkcast {
namespace {

template <class Value>
std::optional<Value> find(const std::map<std::string, Value>& values, const std::string& key) {
  const auto value = values.find(key);
  return value == values.end() ? std::nullopt : std::optional<Value>(value->second);
}

}  // namespace

std::optional<std::string> c10d_operation(const std::string& name) {
  // source: PyTorch 2, torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp and ParamCommsUtils.hpp
  static const std::map<std::string, std::string> kNames{{"allreduce", "all_reduce"},
                                                         {"allreduce_coalesced", "all_reduce"},
                                                         {"allgather", "all_gather"},
                                                         {"_allgather_base", "all_gather"},
                                                         {"all_gather", "all_gather"},
                                                         {"allgather_into_tensor_coalesced", "all_gather"},
                                                         {"reduce_scatter", "reduce_scatter"},
                                                         {"_reduce_scatter_base", "reduce_scatter"},
                                                         {"reduce_scatter_tensor_coalesced", "reduce_scatter"},
                                                         {"alltoall", "alltoall"},
                                                         {"alltoall_base", "alltoall"},
                                                         {"barrier", "all_reduce"},
                                                         {"broadcast", "broadcast"},
                                                         {"reduce", "reduce"},
                                                         {"all_to_all", "alltoall"},
                                                         {"all_to_allv", "alltoall"},
                                                         {"gather", "gather"},
                                                         {"scatter", "scatter"},
                                                         {"send", "send"},
                                                         {"recv", "recv"},
                                                         // out of place, which only timelines show
                                                         {"_broadcast_oop", "broadcast"},
                                                         {"_reduce_oop", "reduce"}};
  return find(kNames, name);
}

TraceKind kind_of_call(const std::string& op) {
  static const std::map<std::string, TraceKind> kMessages{{"send", TraceKind::kSend}, {"recv", TraceKind::kRecv}};
  return find(kMessages, op).value_or(TraceKind::kCollective);
}

std::optional<double> c10d_element_B(const std::string& dtype) {
  // source: PyTorch 2.9 c10/core/ScalarType.h: bytes of an element; types of less than a byte are not in it
  static const std::map<std::string, double> kBytes{{"Float", 4},
                                                    {"Half", 2},
                                                    {"BFloat16", 2},
                                                    {"Double", 8},
                                                    {"Int", 4},
                                                    {"Long", 8},
                                                    {"Short", 2},
                                                    {"Char", 1},
                                                    {"Byte", 1},
                                                    {"Bool", 1},
                                                    {"Float8_e4m3fn", 1},
                                                    {"Float8_e5m2", 1},
                                                    {"Float8_e4m3fnuz", 1},
                                                    {"Float8_e5m2fnuz", 1},
                                                    {"Float8_e8m0fnu", 1},
                                                    {"UInt16", 2},
                                                    {"UInt32", 4},
                                                    {"UInt64", 8},
                                                    {"ComplexHalf", 4},
                                                    {"ComplexFloat", 8},
                                                    {"ComplexDouble", 16},
                                                    {"QInt8", 1},
                                                    {"QUInt8", 1},
                                                    {"QInt32", 4}};
  return find(kBytes, dtype);
}

}  // namespace linkcast
