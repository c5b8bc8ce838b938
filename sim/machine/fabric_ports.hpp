#pragma once
// What papers say of a fabric in words: ports of a switch, groups and their nodes. Counted link by link.
#include "sim/machine/fabric.hpp"

namespace linkcast::bounds {

struct ClassPorts {
  int switches = 0;             ///< that have such a link
  int most = 0;                 ///< such links at one switch
  int parts_without = 0;        ///< into how many parts, single vertices included, the fabric falls without the class
  int endpoints_of_a_part = 0;  ///< in the largest of them
};

/// @param link_class  index into fabric.classes()
ClassPorts class_ports(const Fabric& fabric, int link_class);

}  // namespace linkcast::bounds
