#pragma once
#include <cstddef>
#include <string>

namespace linkcast::serve {

/// One line of JSON a request, added to a file: what is in it was answered.
class RequestLog {
 public:
  /// @param file  empty: none. @throws InputError  it cannot be written
  explicit RequestLog(const std::string& file);
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;
  ~RequestLog();

  /// From any thread. A full disk costs lines, not answers.
  void add(const std::string& method, const std::string& route, int status, double taken_s, std::size_t in_B,
           std::size_t out_B) const;

 private:
  int file_ = -1;
};

}  // namespace linkcast::serve
