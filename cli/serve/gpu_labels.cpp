#include "cli/serve/gpu_labels.hpp"

#include <algorithm>
#include <cctype>

#include "sim/records/gpu_model_names.hpp"

namespace linkcast::serve {
namespace {

/// "NVIDIA-A100-SXM4-40GB" and "NVIDIA A100-SXM4-40GB" alike: letters and digits alone.
std::string bare(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string platform_of_labels(catalogue::Catalogue& catalogue, const std::vector<std::string>& served,
                               const GpuLabels& labels, const std::string& wanted) {
  const std::string what = std::to_string(labels.count) + " x " + labels.product;
  for (const char* part : {"-MIG-", "-SHARED"})
    if (labels.product.find(part) != std::string::npos)
      throw InputError("label nvidia.com/gpu.product: " + labels.product + " gives parts of GPUs away");
  const auto model = find_gpu_model(labels.product);
  std::vector<std::string> same_name, same_model;
  for (const std::string& id : served) {
    const Platform& platform = catalogue.machine(id)->platform();
    if (platform.gpu_count() != labels.count) continue;
    const std::string& name = platform.topology().devices[static_cast<std::size_t>(platform.gpu(0))].model;
    const auto own = find_gpu_model(name);
    if (bare(name) == bare(labels.product)) same_name.push_back(id);
    if (model && own && own->words == model->words) same_model.push_back(id);
  }
  const std::vector<std::string>& fit = same_name.empty() ? same_model : same_name;
  if (fit.size() == 1) return fit.front();
  if (std::find(fit.begin(), fit.end(), wanted) != fit.end()) return wanted;
  if (fit.empty()) throw InputError("labels: no platform that is served has " + what);
  throw InputError("labels: " + what + " are in " + listed(fit) + ": annotation linkcast/platform says which");
}

}  // namespace linkcast::serve
