#include "sim/records/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "sim/base/ranges.hpp"

namespace linkcast {
namespace {

constexpr std::string_view kTransport = "transport";

/// How names begin, but for those of libraries.
constexpr std::array<std::pair<std::string_view, ParameterOf>, 8> kHeads = {
    {{"cable", ParameterOf::kCable},
     {"link", ParameterOf::kLink},
     {kTransport, ParameterOf::kTransport},
     {"copy_engine", ParameterOf::kEngine},
     {"noise", ParameterOf::kNoise},
     {"launch", ParameterOf::kLaunch},
     {"recording", ParameterOf::kRecording},
     {"host_memory", ParameterOf::kHostMemory}}};

/// The rows that are of no protocol.
constexpr const ParameterRow* kRows[] = {
    &key::cable_bandwidth,
    &key::cable_to_host,
    &key::cable_from_host,
    &key::cable_duplex,
    &key::cable_kernel_duplex,
    &key::cable_flow_bandwidth,
    &key::cable_store,
    &key::cable_load,
    &key::cable_half_bandwidth,
    &key::link_bandwidth,
    &key::cable_retry_rate,
    &key::cable_latency_scale,
    &key::link_retry_rate,
    &key::range_end,
    &key::startup,
    &key::flat,
    &key::range_bandwidth,
    &key::single,
    &key::bidirectional,
    &key::chunk,
    &key::handover,
    &key::engine_turn,
    &key::host_write,
    &key::host_read,
    &key::host_both,
    &key::most_loss,
    &key::loss_exponent,
    &key::noise_wait,
    &key::noise_wait_sigma,
    &key::recording_launch,
    &key::recording_call,
    &key::recording_operator,
    &key::recording_collective,
    &key::launch_call,
    &key::launch_sigma,
    &key::launch_send,
    &key::launch_gpu,
    &key::launch_batch,
    &key::network_proxy,
    &key::network_channel,
    &key::network_growth,
    &key::network_hop_growth,
    &key::narrow8,
    &key::narrow4,
    &key::sendrecv_base,
    &key::sendrecv_channel,
    &key::sendrecv_unidirectional,
    &key::graph_sooner,
    &key::sendrecv_simple,
    &key::host_message_channel,
    &key::host_data_share,
    &key::host_cache,
    &key::host_post,
    &key::gpu_post,
    &key::host_eager,
    &key::host_reduce,
    &key::host_nics,
    &key::inside_startup,
    &key::inside_bandwidth,
    &key::staging_copy,
    &key::staging_rate,
    &key::staging_fresh,
    &key::staging_fresh_from,
    &key::library_version,
};

/// The table, and where its rows are by the last part of their names.
struct Table {
  std::vector<const ParameterRow*> rows;
  std::multimap<std::string_view, const ParameterRow*> by_what;
  std::set<std::string, std::less<>> families = {"nccl", "mpi"};

  void add(const ParameterRow& row) {
    rows.push_back(&row);
    by_what.emplace(row.what, &row);
  }
  Table();
};

Table::Table() {
  using namespace key;
  for (const ParameterRow* row : kRows) add(*row);
  for (const ProtocolRows* rows_of :
       {&ring_base, &ring_hop, &ring_channel, &ring_copy_steps, &ring_reduce_steps, &ring_read_steps, &ring_copy,
        &ring_reduce, &ring_read, &ring_tail, &ring_host_wait, &ring_crowding, &tree_slowness, &network_hop, &host_base,
        &host_hop, &host_channel})
    for (const LibraryRow& row : rows_of->all()) add(row);
}

Table& table() {
  static Table all;
  return all;
}

bool is_word_of(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0; begin <= words.size();) {
    const auto end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

bool fits(const ParameterRow& row, ParameterOf of, const ParameterName& name) {
  if (row.what != name.what) return false;
  if (row.of != (of == ParameterOf::kTransport && name.range() ? ParameterOf::kRange : of)) return false;
  const bool library = of == ParameterOf::kLibrary;  // "ring.LL@2.8" is of one version
  const std::string_view subject = library ? name.subject.substr(0, name.subject.find('@')) : name.subject;
  return row.subject.empty() || is_word_of(row.subject, subject);
}

bool digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string ParameterRow::refusal(double value) const {
  if (unit == "B/s" && !(value > 0)) return "a bandwidth must be above 0";
  if (value < 0) return "must be 0 or more";
  if (std::string wrong = range_refusal(unit, value); !wrong.empty()) return wrong;
  return value >= below ? fmt::format("must be below {:f}", below) : "";
}

namespace {

/// @param what  last part; empty: none
std::string name_of(ParameterOf of, std::string_view subject, std::string_view what) {
  const ParameterOf sort = of == ParameterOf::kRange ? ParameterOf::kTransport : of;
  const auto head = std::find_if(kHeads.begin(), kHeads.end(), [&](const auto& known) { return known.second == sort; });
  if (head == kHeads.end()) throw InvariantError("a parameter of a library has no head of its own");
  std::string name;
  name.reserve(head->first.size() + subject.size() + what.size() + 2);
  name.append(head->first);
  if (!subject.empty()) (name += '.').append(subject);
  if (!what.empty()) (name += '.').append(what);
  return name;
}

}  // namespace

ParameterKey ParameterRow::key(std::string_view subject_of_name) const {
  return {name_of(of, subject_of_name, what), this};
}

std::string parameter_subject(ParameterOf of, std::string_view subject) { return name_of(of, subject, ""); }

std::string one_cable(std::string_view kind, std::string_view cable) {
  return std::string(kind).append("@").append(cable);
}

std::string library_family(std::string_view library) { return std::string(library.substr(0, library.find('-'))); }

std::string library_version_name(std::string_view library) {
  const auto dash = library.find('-');
  return dash == std::string_view::npos ? "" : std::string(library.substr(dash + 1));
}

const std::vector<const ParameterRow*>& parameter_rows() { return table().rows; }

bool join_parameters(const std::string& family, const std::vector<const ParameterRow*>& rows) {
  if (!family.empty()) table().families.insert(family);
  for (const ParameterRow* row : rows) table().add(*row);
  return true;
}

ParameterName::ParameterName(std::string_view name) {
  const auto first = name.find('.'), last = name.rfind('.');
  head = name.substr(0, first);
  what = name.substr(last + 1);
  if (first != last) subject = name.substr(first + 1, last - first - 1);
}

std::optional<ParameterOf> ParameterName::of() const {
  for (const auto& [known, of] : kHeads)
    if (head == known) return of;
  return table().families.contains(head) ? std::optional(ParameterOf::kLibrary) : std::nullopt;
}

std::string_view ParameterName::transport() const {
  return head == kTransport ? subject.substr(0, subject.find('.')) : std::string_view();
}

std::optional<std::size_t> ParameterName::range() const {
  const auto dot = subject.find('.');
  if (head != kTransport || dot == std::string_view::npos || !subject.substr(dot + 1).starts_with('r')) return {};
  const std::string_view number = subject.substr(dot + 2);
  std::size_t range = 0;
  if (!digits(number) || std::from_chars(number.data(), number.data() + number.size(), range).ec != std::errc{})
    return {};
  return range;
}

const ParameterRow* find_parameter_row(std::string_view name) {
  const ParameterName parts(name);
  const auto of = parts.of();
  if (!of) return nullptr;
  const auto [begin, end] = table().by_what.equal_range(parts.what);
  const auto found = std::find_if(begin, end, [&](const auto& row) { return fits(*row.second, *of, parts); });
  return found == end ? nullptr : found->second;
}

bool is_of(std::string_view name, const ParameterRow& row) { return find_parameter_row(name) == &row; }

bool is_of_library(std::string_view name) { return ParameterName(name).of() == ParameterOf::kLibrary; }

void check_parameter_name(const std::string& file, const std::string& name) {
  if (find_parameter_row(name)) return;
  const ParameterName parts(name);
  if (parts.of()) throw InputError(file, "/parameters/" + name, "no such parameter of a " + std::string(parts.head));
}

}  // namespace linkcast
