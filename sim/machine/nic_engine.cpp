#include "sim/machine/nic_engine.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/parse.hpp"

namespace linkcast {
namespace {

template <class Engine, class Visitor>
void each_figure(Engine& engine, Visitor&& visit) {
  visit("read_request", engine.read_request);
  visit("read_interval", engine.read_interval);
  visit("read_window", engine.read_window);
  visit("head_latency", engine.head_latency);
  visit("transmit_start", engine.transmit_start);
  visit("gpu_read", engine.gpu_read);
  visit("host_read", engine.host_read);
  visit("packet", engine.packet);
  visit("message_overhead", engine.message_overhead);
  visit("staged_overhead", engine.staged_overhead);
}

void take(ObjectReader& r, const char* name, Bytes& value) { value = r.bytes(name); }
void take(ObjectReader& r, const char* name, Seconds& value) { value = r.seconds(name); }
void take(ObjectReader& r, const char* name, BytesPerSecond& value) { value = r.bandwidth(name); }

void parse(const std::string& text, Bytes& value) { value = parse_bytes(text); }
void parse(const std::string& text, Seconds& value) { value = parse_seconds(text); }
void parse(const std::string& text, BytesPerSecond& value) { value = parse_bandwidth(text); }

/// Of what must be above 0, the first that is not; nullptr if all are.
const char* not_positive(const NicEngine& e) {
  if (!(e.read_request.si > 0)) return "read_request";
  if (!(e.read_interval.si > 0)) return "read_interval";
  if (!(e.gpu_read.si > 0)) return "gpu_read";
  if (!(e.host_read.si > 0)) return "host_read";
  if (!(e.packet.si > 0)) return "packet";
  return nullptr;
}

}  // namespace

BytesPerSecond NicEngine::steady_read() const {
  const double asked = std::min(read_request.si / read_interval.si, gpu_read.si);
  if (!(read_window.si > 0)) return {packet.si / (transmit_start.si + head_latency.si + packet.si / asked)};
  return {std::min(asked, read_window.si / (head_latency.si + read_window.si / 2 / asked))};
}

void NicEngine::slow_down(double factor) {
  for (Seconds* time : {&read_interval, &head_latency, &transmit_start}) time->si *= factor;
  for (BytesPerSecond* rate : {&gpu_read, &host_read}) rate->si /= factor;
}

double NicEngine::whole_packets_B(double bytes) const { return std::ceil(bytes / packet.si) * packet.si; }

std::vector<std::pair<std::string, double>> NicEngine::figures() const {
  std::vector<std::pair<std::string, double>> all;
  each_figure(*this, [&](const char* figure, const auto& value) { all.emplace_back(figure, value.si); });
  return all;
}

bool NicEngine::set(const std::string& name, const std::string& text) {
  bool found = false;
  each_figure(*this, [&](const char* figure, auto& value) {
    if (figure != name) return;
    parse(text, value);
    found = true;
  });
  if (const char* bad = not_positive(*this)) throw UnitError(std::string(bad) + " must be above 0");
  return found;
}

NicEngine read_nic_engine(ObjectReader r) {
  NicEngine engine;
  each_figure(engine, [&](const char* figure, auto& value) { take(r, figure, value); });
  engine.source = r.required<std::string>("source");
  if (engine.source.empty()) r.fail("source", "figures without a source are not accepted");
  if (const char* bad = not_positive(engine)) r.fail(bad, "must be above 0");
  r.finish();
  return engine;
}

}  // namespace linkcast
