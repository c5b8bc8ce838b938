#pragma once
#include <string>
#include <vector>

namespace linkcast {

/// Before an import: what it will take by the size of its files. Of what is no plain file nothing is known.
/// @param format  of a measurement, a topology or a trace
/// @throws InputError  more than work::limits() allow
void expect_import(const std::string& format, const std::vector<std::string>& files);

}  // namespace linkcast
