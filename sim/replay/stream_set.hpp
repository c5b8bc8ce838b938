#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace linkcast::replay {

/// A set of a rank's streams. Most ranks have few, which are one word; whoever has thousands pays for those in the set
/// and not for the others.
class StreamSet {
 public:
  void add(std::size_t stream) {
    if (stream < kFew) {
      few_ |= bit(stream);
      return;
    }
    if (!more_) more_ = std::make_unique<More>();
    more_->add(stream - kFew);
  }
  void remove(std::size_t stream) {
    if (stream < kFew)
      few_ &= ~bit(stream);
    else if (more_)
      more_->remove(stream - kFew);
  }
  /// In ascending order; those that are in it when their turn comes.
  template <class Do>
  void each(const Do& act) const {
    for (std::uint64_t left = few_; left != 0;) {
      const int stream = std::countr_zero(left);
      act(static_cast<std::size_t>(stream));
      left = few_ & (kAll << stream << 1U);
    }
    if (!more_) return;
    for (std::size_t at = more_->from(0); at != kNone; at = more_->from(at + 1)) act(kFew + at);
  }

 private:
  static constexpr std::size_t kWord = 64;  // bits
  static constexpr std::size_t kFew = 63;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  static std::uint64_t bit(std::size_t at) { return std::uint64_t{1} << (at % kWord); }

  /// Bits in words, and of each word whether it has any.
  class More {
   public:
    void add(std::size_t at) {
      const std::size_t word = at / kWord;
      if (word >= words_.size()) {
        words_.resize(word + 1, 0);
        any_.resize(word / kWord + 1, 0);
      }
      words_[word] |= bit(at);
      any_[word / kWord] |= bit(word);
    }
    void remove(std::size_t at) {
      const std::size_t word = at / kWord;
      if (word >= words_.size()) return;
      words_[word] &= ~bit(at);
      if (words_[word] == 0) any_[word / kWord] &= ~bit(word);
    }
    /// The first one in the set that is not before this. kNone: none
    [[nodiscard]] std::size_t from(std::size_t at) const {
      const std::size_t inside = next(words_, at, at / kWord + 1);
      if (inside != kNone) return inside;
      const std::size_t word = next(any_, at / kWord + 1, any_.size());
      return word == kNone ? kNone : word * kWord + static_cast<std::size_t>(std::countr_zero(words_[word]));
    }

   private:
    /// @param end  word before which it stops
    static std::size_t next(const std::vector<std::uint64_t>& words, std::size_t at, std::size_t end) {
      std::uint64_t mask = kAll << (at % kWord);
      for (std::size_t word = at / kWord; word < words.size() && word < end; ++word, mask = kAll)
        if (const std::uint64_t left = words[word] & mask; left != 0)
          return word * kWord + static_cast<std::size_t>(std::countr_zero(left));
      return kNone;
    }
    std::vector<std::uint64_t> words_{}, any_{};
  };

  std::uint64_t few_ = 0;
  std::unique_ptr<More> more_{};  ///< streams from kFew on; null: none ever was in the set
};

}  // namespace linkcast::replay
