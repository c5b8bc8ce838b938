#include "sim/records/gpu_models.hpp"

#include <array>
#include <cctype>

namespace linkcast {
namespace {

// Words that people glue to the next one ("RTX4090") or to the one before ("H100SXM5", "RTX6000Ada"). source: ours,
// names in public logs and posts
constexpr std::array<std::string_view, 6> kBefore = {"NVIDIA", "GEFORCE", "QUADRO", "TESLA", "RTX", "PRO"};
constexpr std::array<std::string_view, 4> kBehind = {"SXM", "PCIE", "NVL", "ADA"};

/// "RTX6000ADA" as "RTX 6000 ADA".
std::string unglued(const std::string& word) {
  for (const std::string_view before : kBefore)
    if (word.size() > before.size() && word.starts_with(before))
      return std::string(before) + " " + unglued(word.substr(before.size()));
  for (const std::string_view behind : kBehind)
    if (const auto at = word.find(behind); at != std::string::npos && at > 0)
      return word.substr(0, at) + " " + word.substr(at);
  return word;
}

/// Upper case, words of letters and digits with one blank before and after each: " TESLA V100 SXM2 16GB ".
std::string model_words(std::string_view text) {
  std::string words = " ", word;
  const auto end_word = [&] {
    if (!word.empty()) words += unglued(word) + " ";
    word.clear();
  };
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)))
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    else
      end_word();
  end_word();
  return words;
}

}  // namespace

std::optional<GpuModel> find_gpu_model(const std::string& name) {
  static const auto all = [] {
    std::vector<std::string> words;
    for (const GpuModel& model : kGpuModels) words.push_back(model_words(model.words));
    return words;
  }();
  const std::string words = model_words(name);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (words.find(all[i]) != std::string::npos) return kGpuModels[i];
  return std::nullopt;
}

bool same_gpu_model(const std::string& one, const std::string& other) {
  const auto first = find_gpu_model(one), second = find_gpu_model(other);
  return first && second && first->words == second->words;
}

bool means_gpu(const std::string& name, const std::string& gpu) {
  const std::string words = model_words(name);
  return same_gpu_model(name, gpu) || (words.size() > 1 && model_words(gpu).find(words) != std::string::npos);
}

bool names_model(const std::string& name, const GpuModel& model) {
  return model_words(name).find(model_words(model.words)) != std::string::npos;
}

}  // namespace linkcast
