#include "cli/plugin_pages.hpp"

#include "calibrate/import/importer.hpp"
#include "cli/texts.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kSummaryColumn = 4, kKeyColumn = 22;

template <class Plugins>
std::string page_of(const Plugins& plugins, const PluginInfo& info) {
  std::string text = info.name + "\n";
  for (const std::string& line : wrapped(info.summary, kColumns - kSummaryColumn))
    text += std::string(kSummaryColumn, ' ') + line + "\n";
  for (const auto& option : plugins.get(info.name).options())
    text += two_columns(std::string(kSummaryColumn, ' ') + option.key, option.text, kKeyColumn);
  return text;
}

template <class Plugins>
std::string pages_of(const Plugins& plugins) {
  std::string text;
  for (const PluginInfo& info : plugins.list()) text += "\n" + page_of(plugins, info);
  return text;
}

template <class Plugins>
std::string page_named(const Plugins& plugins, const std::string& name) {
  for (const PluginInfo& info : plugins.list())
    if (info.name == name) return page_of(plugins, info);
  return "";
}

template <class Plugins>
std::string names_in(const Plugins& plugins) {
  std::string text;
  for (const std::string& name : plugins.names()) text += (text.empty() ? "  " : ", ") + name;
  return text + "\n";
}

}  // namespace

std::string format_page(const std::string& name) {
  const std::string page = page_named(importers(), name);
  return page.empty() ? page_named(trace_importers(), name) : page;
}

std::string application_page(const std::string& name) { return page_named(trace_generators(), name); }

std::string formats_page() {
  return "Formats of measurements and topologies, and what --option says to each\n" + pages_of(importers()) +
         "\nFormats of traces, which need no --machine and no --topology\n" + pages_of(trace_importers());
}

std::string applications_page() {
  return "Applications, and what --option says to each\n" + pages_of(trace_generators());
}

std::string format_names() {
  return "Measurements and topologies:\n" + names_in(importers()) +
         "Traces, which need no --machine, no --topology:\n" + names_in(trace_importers()) +
         "What a format takes: linkcast help import FORMAT; all: linkcast help formats\n";
}

std::string application_names() {
  return "Applications:\n" + names_in(trace_generators()) +
         "What one takes: linkcast help trace APPLICATION; all: linkcast help applications\n";
}

}  // namespace linkcast::cli
