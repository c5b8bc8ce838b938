#pragma once
#include <string>
#include <unordered_map>
#include <vector>

namespace linkcast::replay {

/// Numbers of names, in the order in which they came.
class NameTable {
 public:
  static constexpr int kNone = -1;

  [[nodiscard]] int find(const std::string& name) const {
    if (numbers_.empty()) {
      for (std::size_t i = 0; i < names_.size(); ++i)
        if (names_[i] == name) return static_cast<int>(i);
      return kNone;
    }
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? kNone : found->second;
  }
  [[nodiscard]] const std::string& name(int number) const { return names_[static_cast<std::size_t>(number)]; }
  /// The number of one that is there, or the next.
  int add(const std::string& name) {
    const int known = find(name);
    return known != kNone ? known : append(name);
  }

 private:
  static constexpr std::size_t kFew = 8;  // ours: those are looked through

  int append(const std::string& name) {
    names_.push_back(name);
    if (names_.size() > kFew)
      for (std::size_t i = numbers_.size(); i < names_.size(); ++i) numbers_.emplace(names_[i], static_cast<int>(i));
    return static_cast<int>(names_.size()) - 1;
  }

  std::vector<std::string> names_{};
  std::unordered_map<std::string, int> numbers_{};  ///< of more than a few
};

}  // namespace linkcast::replay
