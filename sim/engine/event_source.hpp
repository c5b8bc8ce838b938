#pragma once
namespace linkcast {

/// Events closer than this, relative to the clock, are one moment: rounding must not tear apart what ends together.
/// source: 2^-43, the rounding noise of about 1000 additions of 2^-53 each
inline constexpr double kSameMoment = 0x1p-43;

/// Something with events on a clock of its own that starts at 0.
class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;
  [[nodiscard]] virtual double now_s() const = 0;
  /// When something happens next, not before now_s(); infinite when nothing will.
  virtual double next_event_s() = 0;
  /// Moves the clock to next_event_s(), which is finite, and handles all that happens then.
  virtual void advance() = 0;
};

}  // namespace linkcast
